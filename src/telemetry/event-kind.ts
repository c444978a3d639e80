/** Level of a log line, named as in the configuration's `log.level`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/**
 * How the log writes one kind of event.
 * Levels: `debug` for routine work, `info` for changes, `warn` for problems that leadsync handles itself, and `error` for problems that
 * need an operator.
 */
export interface EventKind<Fields extends object> {
  readonly level: LogLevel | ((event: Fields) => LogLevel);
  /** Returns one plain sentence that a reader understands without the fields. */
  readonly message: (event: Fields) => string;
  /** Fields that are logged. Other fields of an event stay out of the log. */
  readonly fields: readonly (keyof Fields & string)[];
  /** Whether repeats are throttled. By default, repeats of level `warn` and `error` are. */
  readonly throttled?: boolean;
  /** Returns the name of the thing whose state the event reports. A later event about the same thing supersedes this one. */
  readonly stateOf?: (event: Fields) => string;
}

/** Returns `kind` unchanged. The compiler checks `kind` against the fields that events of this kind have. */
export function eventKind<Fields extends object = object>(kind: EventKind<Fields>): EventKind<Fields> {
  return kind;
}
