import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { blanked } from '../platform/text/printable.ts';
import type { LogLevel } from './event-kind.ts';
import type { Event } from './events.ts';
import { logLine } from './log-line.ts';
import { processTime, RepeatThrottle, type Time } from './repeat-throttle.ts';

/** Where the log goes: standard error, since standard output is data. Its writes are taken to be synchronous. */
export interface LogStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  hasColors?(): boolean;
  on?(event: 'error', listener: (error: Error) => void): unknown;
}

/** Where and from which level on the log is written. `time` is for what repeats; each line bears the machine's time. */
export interface LoggerOptions {
  readonly level: LogLevel;
  /** Absent: `pretty` on a terminal, `json` elsewhere. */
  readonly format?: 'json' | 'pretty' | undefined;
  readonly stream: LogStream;
  readonly time?: Time;
}

/**
 * Writes the log: one line for an event, and nothing that is not on the list of fields. What fails again and again in the
 * same way is written a few times, then once a minute with how many there were.
 */
export interface Logger {
  event(event: Event): void;
  /**
   * Reports a fault of leadsync itself: what it was doing, and the error's name, code and place in the code.
   * Its message stays out: an unforeseen error may quote a lead.
   */
  fault(doing: string, error: unknown): void;
  /** Writes lines of at least this level from now on. */
  setLevel(level: LogLevel): void;
}

/** Makes a logger. Each line is handed to the stream before the call returns, so that a crash loses none. */
export function createLogger({ level, format, stream, time = processTime }: LoggerOptions): Logger {
  const repeats = new RepeatThrottle(time);
  // A reader that went away (EPIPE) must not end the deliveries; there is nobody left to tell.
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
  return {
    event(event) {
      const line = logLine(event);
      if (!log.isLevelEnabled(line.level)) return;
      if (event.type === 'stopping') repeats.flush();
      const fields = { event: event.type, ...line.fields };
      const write = (more: number) => log[line.level](...counted(fields, line.message, more));
      if (line.repeats === undefined) write(0);
      else repeats.take(line.repeats, write, line.state);
    },
    fault(doing, error) {
      const fields = { event: 'fault', doing, ...describe(error) };
      const message = `A fault in leadsync while ${doing}; please report it.`;
      const kind = JSON.stringify({ ...fields, doing: undefined });
      repeats.take(kind, (more) => log.error(...counted(fields, message, more)));
    },
    setLevel(next) {
      log.level = next;
    },
  };
}

/** A line with how many of its kind were left out before it. */
function counted(fields: object, message: string, more: number): [object, string] {
  if (more === 0) return [fields, clean(message, MAX_MESSAGE)];
  const text = clean(message, MAX_MESSAGE);
  return [{ ...fields, more }, `${text} ${more} more like it ${more === 1 ? 'was' : 'were'} left out.`];
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

/** What a terminal obeys could forge a line or hide one, and text from afar has no natural end. */
function clean(text: string, max: number): string {
  // Cut first: a text of many megabytes is not worth going through. Half of a pair at the cut is replaced with the rest.
  const blank = blanked(text.slice(0, max));
  return text.length > max ? `${blank}…` : blank;
}

function describe(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: typeof error };
  const { code } = error as { code?: unknown };
  return {
    error: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    where: frames(error),
  };
}

/** The places in the code alone: the stack begins with the message, which may have lines of its own. */
function frames(error: Error): string[] {
  const stack = error.stack ?? '';
  const afterMessage = stack.slice(Math.max(0, stack.indexOf(error.message)) + error.message.length);
  return afterMessage.split('\n').flatMap((line) => (/^ {4}at /.test(line) ? [line.trim()] : []));
}
