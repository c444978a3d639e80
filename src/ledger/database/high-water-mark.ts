import { readFileSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { codeOf } from '../../platform/failures/error-code.ts';
import { disk, writeFileDurably } from '../../platform/files/file-system.ts';

/** The high-water mark: for each ledger that has been at this path, the number of its last poll, by ledger id. */
type Mark = Readonly<Record<string, unknown>>;

/**
 * Whether the high-water mark beside the ledger shows a later poll than the ledger contains, which means that an older copy was written
 * over the ledger. The identity of the file does not show this, because an overwritten file keeps its inode number and birth time.
 */
export function isBehindMark(db: Database.Database): boolean {
  const { id, lastPoll } = progressOf(db);
  const marked = readMark(markOf(db))[id];
  return typeof marked === 'number' && marked > lastPoll;
}

/**
 * Writes the number of the last committed poll to the high-water mark, a file beside the ledger. Ignores errors of the disk and the ledger,
 * because other calls report them and the only consequence of a missing mark is that leadsync cannot recognise an older copy.
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

/** Returns the ids of the ledgers that have been at this path, as listed in the high-water mark. */
export function markedLedgers(file: string): readonly string[] {
  return Object.keys(readMark(markBeside(file)));
}

function markOf(db: Database.Database): string {
  return markBeside(db.name);
}

function markBeside(file: string): string {
  return `${file}.mark`;
}

/** Reads the mark. Returns an empty mark if it is missing or unreadable. */
function readMark(path: string): Mark {
  try {
    const mark: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof mark === 'object' && mark !== null && !Array.isArray(mark) ? (mark as Mark) : {};
  } catch {
    return {};
  }
}

/**
 * Returns the ledger's id and the number of its last poll, which measures its progress: every poll takes a new number, whatever the poll
 * finds, and no number is reused.
 */
function progressOf(db: Database.Database): { id: string; lastPoll: number } {
  const row = db
    .prepare<[], { id: string; lastPoll: number }>(
      "SELECT id, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'polls'), 0) AS lastPoll FROM _ledger",
    )
    .get();
  return row ?? { id: '', lastPoll: 0 };
}
