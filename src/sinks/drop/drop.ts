import type { AttemptUnderWay } from '../sink.ts';

/** A place in which a sink drops files of leads. Each file is complete the moment it appears. */
export interface Drop {
  /** The place, for messages. */
  readonly place: string;
  /** Verifies that leadsync can write files there. Leaves no file behind. @throws SinkUnavailable */
  check(signal: AbortSignal): Promise<void>;
  /**
   * Writes a file, unless it already exists with the same content. `name` may begin with a day folder.
   * @throws SinkUnavailable for every failure, including the deadline, an aborted `signal` and an expired lease
   */
  write(name: string, content: Buffer, signal: AbortSignal, attempt?: AttemptUnderWay): Promise<void>;
  /**
   * Returns the files of leads that have this ending, those in day folders included. One file is in memory at a time.
   * @throws SinkUnavailable for every failure, including an aborted `signal`
   */
  files(ending: string, signal: AbortSignal): AsyncIterable<DroppedFile>;
  /** Returns the path or address of a file. */
  nameOf(name: string): string;
  /** Returns the destination of a file as a preview shows it. */
  targetOf(name: string): string;
  close(): Promise<void>;
}

/** A file of leads in a drop. */
export interface DroppedFile {
  /** The path or address of the file. */
  readonly file: string;
  readonly content: Buffer;
}
