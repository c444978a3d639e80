import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** The last lines of a log that leadsync itself wrote. */
export interface LogTail {
  readonly lines: readonly string[];
  /** How many lines were passed by, because something else wrote them or they are of another form. */
  readonly others: number;
}

/** Lines that are kept. */
const KEPT = 2_000;
const LEVELS: ReadonlySet<unknown> = new Set(['trace', 'debug', 'info', 'warn', 'error']);

/**
 * Reads the end of a log: from a file, or from a stream until it ends. Only leadsync's own JSON lines are kept, which hold no personal data
 * and no secret; of what others write beside them nobody can tell. @throws Node's error when the file cannot be read
 */
export async function readLogTail(from: string | NodeJS.ReadableStream): Promise<LogTail> {
  const input: NodeJS.ReadableStream = typeof from === 'string' ? createReadStream(from) : from;
  const failed = Promise.withResolvers<never>();
  input.once('error', failed.reject);
  return Promise.race([collect(input), failed.promise]);
}

async function collect(input: NodeJS.ReadableStream): Promise<LogTail> {
  const lines: string[] = [];
  let others = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const own = ownLine(line);
    if (own === undefined) others += line.trim() === '' ? 0 : 1;
    else lines.push(own);
    if (lines.length > 2 * KEPT) lines.splice(0, KEPT);
  }
  return { lines: lines.slice(-KEPT), others };
}

/** What is left of a line without what a container engine may have put before it; undefined for somebody else's. */
function ownLine(line: string): string | undefined {
  const text = line.slice(Math.max(0, line.indexOf('{"level":')));
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== 'object' || read === null) return undefined;
    const [level, time, pid, event] = Object.keys(read);
    const isOurs = level === 'level' && time === 'time' && pid === 'pid' && event === 'event';
    return isOurs && LEVELS.has(Reflect.get(read, 'level')) ? text : undefined;
  } catch {
    return undefined; // another form, such as that for terminals
  }
}
