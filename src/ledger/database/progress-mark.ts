import { readFileSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { codeOf } from '../../platform/failures/error-code.ts';
import { disk, writeFileDurably } from '../../platform/files/files.ts';

/** The number of the last poll of each ledger that was in this place, by the ledger's id. */
type Mark = Readonly<Record<string, unknown>>;

/**
 * Whether the mark beside the ledger says that the ledger had come further: an older copy was written over it. A file that is
 * written over keeps its number and its time of birth, and the copy names both.
 */
export function isBehindMark(db: Database.Database): boolean {
  const { id, lastPoll } = progressOf(db);
  const marked = readMark(markOf(db))[id];
  return typeof marked === 'number' && marked > lastPoll;
}

/**
 * Notes in the mark beside the ledger how far the ledger has come: never more than is committed. A disk or ledger that refuses is no
 * error: whoever works with the ledger tells of it, and all that is missing is that an older copy is recognised.
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

/** One that cannot be read says nothing. */
function readMark(path: string): Mark {
  try {
    const mark: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof mark === 'object' && mark !== null && !Array.isArray(mark) ? (mark as Mark) : {};
  } catch {
    return {};
  }
}

/** By the numbers of polls, since every poll takes one, whatever it finds, and none is given twice. */
function progressOf(db: Database.Database): { id: string; lastPoll: number } {
  const row = db
    .prepare<[], { id: string; lastPoll: number }>(
      "SELECT id, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'polls'), 0) AS lastPoll FROM _ledger",
    )
    .get();
  return row ?? { id: '', lastPoll: 0 };
}
