import type { EventKind, LogLevel } from './event-kind.ts';
import { EVENTS, type Event } from './events.ts';

/** A line of the log. */
export interface LogLine {
  readonly level: LogLevel;
  /** One plain sentence for people. */
  readonly message: string;
  /** Fields of the event that may be logged, for programs. */
  readonly fields: Readonly<Record<string, unknown>>;
  /**
   * Key that lines share if they differ only in amounts and times, so that repeats can be throttled. Undefined for a line that is always
   * written.
   */
  readonly repeatKey: string | undefined;
  /** Name of the thing whose state the line reports. */
  readonly state: string | undefined;
}

/** Returns the log line of an event. */
export function logLine(event: Event): LogLine {
  const kind = EVENTS[event.type] as EventKind<Event>;
  const level = typeof kind.level === 'function' ? kind.level(event) : kind.level;
  const isThrottled = kind.throttled ?? (level === 'warn' || level === 'error');
  return {
    level,
    message: kind.message(event),
    fields: loggedFields(event, kind.fields),
    repeatKey: isThrottled ? repeatKeyOf(event) : undefined,
    state: kind.stateOf?.(event),
  };
}

function loggedFields(event: object, names: readonly string[]): Record<string, unknown> {
  const values = event as Readonly<Record<string, unknown>>;
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

/** Matches numbers that are amounts, durations or times, but not those with a meaning of their own, such as `503`. */
const VARYING = /\d{4,}|\d+(?:\.\d+)?(?= (?:ms|s|min|h|days?|leads?|bytes)\b)|\d\d:\d\d(?::\d\d)?(?:\.\d+)?/g;

function repeatKeyOf(event: Event): string {
  const { type, source, sink, code, reason, reasons, operation, faults, ...others } = event as Partial<
    Record<string, unknown>
  >;
  const doing = String(operation).replace(/batch \S+/, 'a batch');
  const about = [type, source, sink, others['export'], code, reason, reasons, faults, doing];
  return JSON.stringify(about).replace(VARYING, '#');
}
