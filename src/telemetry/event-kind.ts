/** How loud a line of the log is; the names are those of the configuration's `log.level`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/**
 * Everything that the log needs to know of one kind of event.
 * Levels: `debug` is what happens all day when all is well, `info` is news, `warn` is what leadsync copes with by itself, and
 * `error` waits for somebody to act.
 */
export interface EventKind<Fields extends object> {
  readonly level: LogLevel | ((event: Fields) => LogLevel);
  /** Returns one plain sentence for people, which is enough by itself. */
  readonly message: (event: Fields) => string;
  /** The fields that are logged. Any other value of an event stays out of the log. */
  readonly fields: readonly (keyof Fields & string)[];
  /** Whether repeats are throttled. Absent: those of level `warn` and `error` are. */
  readonly throttled?: boolean;
  /** Returns the name of the thing whose state the event reports. A later event about the same thing makes it untrue. */
  readonly stateOf?: (event: Fields) => string;
}

/** Returns `kind`, checked against the fields that events of this kind have. */
export function eventKind<Fields extends object = object>(kind: EventKind<Fields>): EventKind<Fields> {
  return kind;
}
