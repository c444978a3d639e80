import type { StoredLead } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import type { Drop, DroppedFile } from './drop.ts';

/** A file format of a drop, with its reader. */
export interface StoredFormat {
  /** The name of the format in messages, such as `CSV`. */
  readonly name: string;
  /** The file extension, with the dot. */
  readonly ending: string;
  /** Returns the leads in a file; none if the file has other columns. Throws if the file does not have this format. */
  readonly leadsOf: (file: string, content: Buffer) => AsyncIterable<StoredLead>;
  /** Returns the ids of the deliveries in a file; none if the file has other columns. Throws as `leadsOf` does. */
  readonly deliveriesOf: (content: Buffer) => AsyncIterable<string>;
}

/**
 * Returns the leads in the files of a drop, with one file in memory at a time. Returns no leads if no file has been written yet.
 * @throws SinkUnavailable for any failure, including an unreadable file and an aborted `signal`
 */
export async function* leadsInDrop(
  drop: Drop,
  format: StoredFormat,
  signal: AbortSignal,
): AsyncGenerator<StoredLead> {
  for await (const file of drop.files(format.ending, signal))
    for await (const lead of readable(format, file.file, format.leadsOf(file.file, file.content))) {
      if (signal.aborted)
        throw new SinkUnavailable(`Reading ${drop.place} was interrupted.`, {
          hint: '',
          cause: signal.reason,
        });
      yield lead;
    }
}

/** Returns the ids of the deliveries in a file. @throws SinkUnavailable if the file is unreadable */
export function deliveriesIn(format: StoredFormat, { file, content }: DroppedFile): AsyncIterable<string> {
  return readable(format, file, format.deliveriesOf(content));
}

async function* readable<Row>(
  { name }: StoredFormat,
  file: string,
  rows: AsyncIterable<Row>,
): AsyncGenerator<Row> {
  try {
    yield* rows;
  } catch (cause) {
    const hint =
      'The file is truncated, or another program changed it. Move it away or restore it, then try again.';
    throw new SinkUnavailable(`${file} cannot be read as ${name}.`, { hint, cause });
  }
}
