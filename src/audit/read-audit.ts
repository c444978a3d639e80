import { type FileHandle, open, stat } from 'node:fs/promises';
import { auditFiles } from './audit-files.ts';
import type { AuditCount, AuditFilter, AuditLine, AuditPage, AuditRequest } from './audit-store.ts';

/** Bytes per read. */
const CHUNK = 64 * 1024;
/** Maximum number of characters read for one page, so that a filter that matches few lines does not keep the process busy. */
const MAX_SCANNED = 1024 * 1024;
/** Maximum number of characters read for a count: those of more than 10,000 lines of usual length. */
const MAX_COUNTED = 2 * MAX_SCANNED;

/**
 * Returns a page of the audit log in a data directory, across the current and the rotated files. Returns undefined if the line `after` no longer
 * exists. Skips anything that is not a line of the audit log. @throws the error from Node if a file cannot be read
 */
export async function readAudit(
  folder: string,
  filter: AuditFilter,
  { limit, after }: AuditRequest,
): Promise<AuditPage | undefined> {
  const all = await filesIn(folder);
  const from = after === undefined ? { files: all, end: undefined } : startAt(all, after);
  if (from === undefined) return undefined;
  const rows: AuditLine[] = [];
  for await (const { id, line, scanned } of scan(from, filter)) {
    if (line && rows.length === limit) return { rows, next: rows.at(-1)?.id ?? null };
    if (line) rows.push(line);
    if (scanned >= MAX_SCANNED) return { rows, next: id };
  }
  return { rows, next: null };
}

/** Counts the lines that match a filter, at most `most`, the newest first. @throws the error from Node if a file cannot be read */
export async function countAudit(folder: string, filter: AuditFilter, most: number): Promise<AuditCount> {
  let count = 0;
  for await (const { line, scanned } of scan({ files: await filesIn(folder), end: undefined }, filter)) {
    if (line) count += 1;
    if (count === most || scanned >= MAX_COUNTED) return { count, isAtLeast: true };
  }
  return { count, isAtLeast: false };
}

/** Reads lines, newest first, with the number of characters read so far. `line` is undefined for one that does not match. */
async function* scan(from: Start, filter: AuditFilter) {
  let scanned = 0;
  for (const [index, { path, inode, size }] of from.files.entries()) {
    const file = await open(path, 'r');
    try {
      for await (const { text, offset } of linesBackward(file, (index === 0 && from.end) || size)) {
        const id = `${inode}.${offset}`;
        scanned += text.length;
        yield { id, line: matching(id, text, filter), scanned };
      }
    } finally {
      await file.close();
    }
  }
}

/** The files to read, newest first, and the offset in the first of them before which to begin; undefined for its end. */
interface Start {
  readonly files: readonly KnownFile[];
  readonly end: number | undefined;
}

interface KnownFile {
  readonly path: string;
  readonly inode: string;
  readonly size: number;
}

async function filesIn(folder: string): Promise<KnownFile[]> {
  const found: KnownFile[] = [];
  for (const path of auditFiles(folder)) {
    try {
      const { ino, size } = await stat(path, { bigint: true });
      found.push({ path, inode: String(ino), size: Number(size) });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return found;
}

/**
 * Returns the file to which a cursor points and all older files, and the offset in the first of them. Returns undefined if the cursor points to
 * no file.
 */
function startAt(files: readonly KnownFile[], cursor: string): Start | undefined {
  const [inode, offset] = cursor.split('.');
  const index = files.findIndex((file) => file.inode === inode);
  const end = Number(offset);
  if (index === -1 || !Number.isSafeInteger(end) || end < 0 || end > (files[index]?.size ?? 0))
    return undefined;
  return end === 0 ? { files: files.slice(index + 1), end: undefined } : { files: files.slice(index), end };
}

/** Reads the lines before the offset `end`, the last one first, with the offset of each. */
async function* linesBackward(
  file: FileHandle,
  end: number,
): AsyncIterable<{ text: string; offset: number }> {
  let rest = Buffer.alloc(0); // the end of a line whose beginning has not been read yet
  for (let at = end; at > 0; ) {
    const chunk = Buffer.alloc(Math.min(CHUNK, at));
    at -= chunk.length;
    await file.read(chunk, 0, chunk.length, at);
    rest = Buffer.concat([chunk, rest]);
    for (let newline = lineBreakIn(rest); newline >= 0; newline = lineBreakIn(rest)) {
      yield { text: rest.toString('utf8', newline + 1), offset: at + newline + 1 };
      rest = rest.subarray(0, newline + 1);
    }
  }
  if (rest.length > 0) yield { text: rest.toString('utf8'), offset: 0 };
}

/** Returns the offset of the last line break before the one that may end the text; -1 if there is none. */
function lineBreakIn(text: Buffer): number {
  return text.length < 2 ? -1 : text.lastIndexOf(0x0a, text.length - 2);
}

function matching(id: string, text: string, { who, what, since, until }: AuditFilter): AuditLine | undefined {
  const line = parsed(id, text);
  if (line === undefined) return undefined;
  const at = Date.parse(line.at);
  const isMatch =
    (who === undefined || line.who === who) &&
    (what === undefined || line.what === what) &&
    (since === undefined || at >= since.getTime()) &&
    (until === undefined || at < until.getTime());
  return isMatch ? line : undefined;
}

/** Values of `who` in lines from earlier versions. Such a line names the credential instead of the person, who is always `admin`. */
const FORMER_WHO: ReadonlySet<unknown> = new Set(['token', 'session']);

/** Parses a line. Returns undefined for any other text, such as a line that a crash left incomplete. */
function parsed(id: string, text: string): AuditLine | undefined {
  try {
    const { at, who, via, what, address, ...details } = JSON.parse(text) as Record<
      string,
      string | undefined
    >;
    if (typeof what !== 'string' || Number.isNaN(Date.parse(String(at)))) return undefined;
    const isFormer = via === undefined && FORMER_WHO.has(who);
    const person = isFormer ? { who: 'admin', via: who } : { who, via };
    return {
      id,
      at: new Date(String(at)).toISOString(),
      ...person,
      what,
      address,
      details: details as AuditLine['details'],
    };
  } catch {
    return undefined;
  }
}
