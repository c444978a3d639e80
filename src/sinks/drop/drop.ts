import type { AttemptUnderWay } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

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
   * Writes the file that `choose` returns, or none if it returns undefined. Replaces no file. `choose` gets the earlier files, which survive
   * a power cut.
   * @throws SinkUnavailable as `write` does, and if the earlier files cannot be read
   */
  writeRest(
    earlier: EarlierFiles,
    choose: ChooseFile,
    signal: AbortSignal,
    attempt?: AttemptUnderWay,
  ): Promise<void>;
  /**
   * Yields the lead files with this file extension, including those in day folders. One file is in memory at a time.
   * @throws SinkUnavailable for every failure, including an aborted `signal`
   */
  files(ending: string, signal: AbortSignal): AsyncIterable<DroppedFile>;
  /** Returns the path or address of a file. */
  nameOf(name: string): string;
  /** Returns the destination of a file as a preview shows it. */
  targetOf(name: string): string;
  close(): Promise<void>;
}

/** The files that earlier attempts of a batch may have written: all files whose names have this start and this ending. */
export interface EarlierFiles {
  /** May begin with a day folder. */
  readonly start: string;
  /** The file extension, with the dot. */
  readonly ending: string;
}

/** Returns the file that is still to be written; undefined if none is. One of the earlier files is in memory at a time. */
export type ChooseFile = (
  earlier: AsyncIterable<DroppedFile>,
) => Promise<{ readonly name: string; readonly content: Buffer } | undefined>;

/** Returns the error for a file that appeared, with other content, after leadsync read the earlier files. */
export function appearedMeanwhile(file: string): SinkUnavailable {
  const hint =
    'The next attempt reads it first. If this persists, check whether another program writes there.';
  return new SinkUnavailable(`${file} appeared during the attempt.`, { hint });
}

/** A file of leads in a drop. */
export interface DroppedFile {
  /** The path or address of the file. */
  readonly file: string;
  readonly content: Buffer;
}
