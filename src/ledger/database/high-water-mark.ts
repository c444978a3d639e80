import { readFileSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { codeOf } from '../../platform/failures/error-code.ts';
import { disk, writeFileDurably } from '../../platform/files/files.ts';

/** The number of the last poll, by ledger id, of each ledger that has been at this path. */
type Mark = Readonly<Record<string, unknown>>;

/**
 * Whether the mark beside the ledger is ahead of the ledger: an older copy was written over it. An overwritten file keeps its inode
 * number and birth time, so its identity does not show this.
 */
export function isBehindMark(db: Database.Database): boolean {
  const { id, lastPoll } = progressOf(db);
  const marked = readMark(markOf(db))[id];
  return typeof marked === 'number' && marked > lastPoll;
}

/**
 * Writes the number of the last committed poll to the mark beside the ledger. Ignores errors of the disk and the ledger: other calls
 * report them, and without the mark leadsync only cannot recognise an older copy.
 */
export async function writeMark(db: Database.Database): Promise<void> {
  try {
    const { id, lastPoll } = progressOf(db);
    const before = readMark(markOf(db));
    if (before[id] === lastPoll) return;
    const text = `${JSON.stringify({ ...before, [id]: lastPoll })}\n`;
    await writeFileDurably(disk, markOf(db), Buffer.from(text), 0o600);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
}

function markOf(db: Database.Database): string {
  return `${db.name}.mark`;
}

/** Reads the mark. An unreadable mark is empty. */
function readMark(path: string): Mark {
  try {
    const mark: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof mark === 'object' && mark !== null && !Array.isArray(mark) ? (mark as Mark) : {};
  } catch {
    return {};
  }
}

/** Measures progress by poll numbers: every poll takes one, whatever it finds, and none is reused. */
function progressOf(db: Database.Database): { id: string; lastPoll: number } {
  const row = db
    .prepare<[], { id: string; lastPoll: number }>(
      "SELECT id, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'polls'), 0) AS lastPoll FROM _ledger",
    )
    .get();
  return row ?? { id: '', lastPoll: 0 };
}
