import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** The last lines of leadsync's log. */
export interface LogTail {
  readonly lines: readonly string[];
  /** Number of skipped lines: lines that another program wrote, or that have another format. */
  readonly others: number;
}

/** Maximum number of lines that are returned. */
const MAX_LINES = 2_000;
const LEVELS: ReadonlySet<unknown> = new Set(['trace', 'debug', 'info', 'warn', 'error']);

/**
 * Reads the end of a log from a file, or from a stream until it ends. Keeps only leadsync's own JSON lines, which hold no personal data and
 * no secrets. Lines from other programs may contain both. @throws the error from Node if the file cannot be read
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
    if (lines.length > 2 * MAX_LINES) lines.splice(0, MAX_LINES);
  }
  return { lines: lines.slice(-MAX_LINES), others };
}

/** Returns leadsync's part of a line, without a container engine's prefix; undefined if another program wrote the line. */
function ownLine(line: string): string | undefined {
  const text = line.slice(Math.max(0, line.indexOf('{"level":')));
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== 'object' || read === null) return undefined;
    const [level, time, pid, event] = Object.keys(read);
    const isOurs = level === 'level' && time === 'time' && pid === 'pid' && event === 'event';
    return isOurs && LEVELS.has(Reflect.get(read, 'level')) ? text : undefined;
  } catch {
    return undefined; // another format, such as `pretty`
  }
}
