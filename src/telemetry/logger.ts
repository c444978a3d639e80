import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { blanked } from '../platform/text/printable.ts';
import type { LogLevel } from './event-kind.ts';
import type { Event } from './events.ts';
import { logLine } from './log-line.ts';
import { type RecentLine, RecentLines } from './recent-lines.ts';
import { processTime, RepeatThrottle, type Time } from './repeat-throttle.ts';

/** Stream of the log: standard error, because standard output is data. Its writes must be synchronous. */
export interface LogStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  hasColors?(): boolean;
  on?(event: 'error', listener: (error: Error) => void): unknown;
}

/** Number of warnings and errors to keep in memory, and of other lines. */
const MAX_RECENT = 500;

/** Options of a logger. Only the throttle uses `time`; the timestamps of lines always come from the system's clock. */
export interface LoggerOptions {
  readonly level: LogLevel;
  /** Defaults to `pretty` on a terminal, and to `json` elsewhere. */
  readonly format?: 'json' | 'pretty' | undefined;
  readonly stream: LogStream;
  readonly time?: Time;
  /** Rewrites each `leadsync …` command in a text to the form that works in this installation. If absent, texts stay unchanged. */
  readonly rewriteCommands?: (text: string) => string;
}

/**
 * Writes the log: one line per event, with only the fields that the event's kind lists. Writes a repeated failure a few times, then once a
 * minute with the number of lines left out.
 */
export interface Logger {
  event(event: Event): void;
  /**
   * Reports an internal error: the activity, and the error's name, code and stack frames. Leaves out the error's message, because an
   * unexpected error can quote a lead.
   */
  fault(doing: string, error: unknown): void;
  /** Reports, at the level `fatal`, the error that ends the process, with the same details as `fault`. */
  crash(error: unknown): void;
  /** Returns the last lines, newest first. */
  recent(): readonly RecentLine[];
  /** Sets the minimum level. */
  setLevel(level: LogLevel): void;
}

/** Creates a logger. It writes each line to the stream before the call returns, so that a crash loses none. */
export function createLogger({
  level,
  format,
  stream,
  time = processTime,
  rewriteCommands = (text) => text,
}: LoggerOptions): Logger {
  const repeats = new RepeatThrottle(time);
  const recent = new RecentLines(MAX_RECENT);
  // A log reader that has exited (EPIPE) must not stop deliveries.
  stream.on?.('error', () => {});
  const log = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: printableFields },
    },
    destination(stream, format ?? (stream.isTTY ? 'pretty' : 'json')),
  );
  const write = (level: LogLevel, fields: LineFields, message: string, more: number) => {
    const [shown, text] = counted(fields, message, more);
    const { event, source, sink } = fields;
    const about = { source: nameIn(source), sink: nameIn(sink) };
    recent.add({ at: new Date(), level, event, ...about, message: text });
    log[level](shown, text);
  };
  return {
    event(event) {
      const line = logLine(event);
      if (!log.isLevelEnabled(line.level)) return;
      if (event.type === 'stopping') repeats.flush();
      const fields = { event: event.type, ...rewritten(line.fields, rewriteCommands) };
      const message = rewriteCommands(line.message);
      const writeLine = (more: number) => write(line.level, fields, message, more);
      if (line.repeatKey === undefined) writeLine(0);
      else repeats.take(line.repeatKey, writeLine, line.state);
    },
    fault(doing, error) {
      const fields = { event: 'fault', doing, ...describe(error) };
      const message = `Internal error while ${doing}; please report it.`;
      const kind = JSON.stringify({ ...fields, doing: undefined });
      repeats.take(kind, (more) => write('error', fields, message, more));
    },
    crash(error) {
      const fields = describe(error);
      const what = [fields.error, ...(fields.where ?? []).slice(0, 1)].join(' ');
      const message = `leadsync ends because of an internal error (${what}); please report it. No lead is lost: the next start continues.`;
      log.fatal({ event: 'crashed', ...fields }, clean(message, MAX_MESSAGE));
    },
    recent: () => recent.newestFirst(),
    setLevel(next) {
      log.level = next;
    },
  };
}

interface LineFields {
  readonly event: string;
  readonly [name: string]: unknown;
}

function nameIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function rewritten(
  fields: Readonly<Record<string, unknown>>,
  rewriteCommands: (text: string) => string,
): Record<string, unknown> {
  const values = Object.entries(fields);
  return Object.fromEntries(
    values.map(([name, value]) => [name, typeof value === 'string' ? rewriteCommands(value) : value]),
  );
}

/** Adds the number of similar lines that were left out before this one. */
function counted(fields: object, message: string, more: number): [object, string] {
  if (more === 0) return [fields, clean(message, MAX_MESSAGE)];
  const text = clean(message, MAX_MESSAGE);
  return [{ ...fields, more }, `${text} ${more} similar ${more === 1 ? 'line was' : 'lines were'} left out.`];
}

function destination(stream: LogStream, format: 'json' | 'pretty'): { write(line: string): void } {
  if (format === 'json') return { write: (line) => void stream.write(line) };
  const prettify = prettyFactory({
    colorize: stream.hasColors?.() ?? false,
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    ignore: 'pid',
  });
  return { write: (line) => void stream.write(prettify(line)) };
}

const MAX_TEXT = 500;
const MAX_MESSAGE = 2_000;
const MAX_ITEMS = 10;

function printableFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  if (typeof value === 'string') return clean(value, MAX_TEXT);
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(plain);
  return value;
}

/** Truncates the text and replaces control characters with spaces, because they could forge or hide a line. */
function clean(text: string, max: number): string {
  // Cuts first, because the text can have many megabytes. `blanked` also replaces half a surrogate pair at the cut.
  const blank = blanked(text.slice(0, max));
  return text.length > max ? `${blank}…` : blank;
}

function describe(error: unknown): { error: string; code?: string; where?: readonly string[] } {
  if (!(error instanceof Error)) return { error: typeof error };
  const { code } = error as { code?: unknown };
  return {
    error: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    where: frames(error),
  };
}

/** Returns the stack frames without the message, which comes first in the stack and can have several lines. */
function frames(error: Error): string[] {
  const stack = error.stack ?? '';
  const afterMessage = stack.slice(Math.max(0, stack.indexOf(error.message)) + error.message.length);
  return afterMessage.split('\n').flatMap((line) => (/^ {4}at /.test(line) ? [line.trim()] : []));
}
