import type { EventKind, LogLevel } from './event-kind.ts';
import { EVENTS, type Event } from './events.ts';

/** An event as one line of the log. */
export interface LogLine {
  readonly level: LogLevel;
  /** One plain sentence that is enough by itself, for people. */
  readonly message: string;
  /** The fields of the event that may be logged, for machines. */
  readonly fields: Readonly<Record<string, unknown>>;
  /**
   * The same for all lines that differ only in amounts and times, so that repeats can be throttled. Undefined for a line that is
   * always written: each is about another lead, or comes once.
   */
  readonly repeats: string | undefined;
  /** The thing whose state the line tells. */
  readonly state: string | undefined;
}

/** Returns an event as the operator reads it. */
export function logLine(event: Event): LogLine {
  const kind = EVENTS[event.type] as EventKind<Event>;
  const level = typeof kind.level === 'function' ? kind.level(event) : kind.level;
  const isThrottled = kind.throttled ?? (level === 'warn' || level === 'error');
  return {
    level,
    message: kind.message(event),
    fields: loggedFields(event, kind.fields),
    repeats: isThrottled ? repeatsOf(event) : undefined,
    state: kind.stateOf?.(event),
  };
}

function loggedFields(event: object, names: readonly string[]): Record<string, unknown> {
  const values = event as Readonly<Record<string, unknown>>;
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

/** Numbers that say how many, how long or when; not those that say what: `503`. */
const VARYING = /\d{4,}|\d+(?:\.\d+)?(?= (?:ms|s|min|h|days?|leads?|bytes)\b)|\d\d:\d\d(?::\d\d)?(?:\.\d+)?/g;

function repeatsOf(event: Event): string {
  const { type, source, sink, code, reason, reasons, operation, faults, ...others } = event as Partial<
    Record<string, unknown>
  >;
  const doing = String(operation).replace(/batch \S+/, 'a batch');
  const about = [type, source, sink, others['export'], code, reason, reasons, faults, doing];
  return JSON.stringify(about).replace(VARYING, '#');
}
