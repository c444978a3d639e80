import { hash } from 'node:crypto';
import type { Batch } from '../../leads/delivery.ts';
import type { AttemptUnderWay } from '../sink.ts';
import type { Drop, DroppedFile } from './drop.ts';
import { deliveriesIn, type StoredFormat } from './leads-in-drop.ts';

/** The file of a batch. */
interface BatchFile {
  readonly name: string;
  /** How the name begins. Batches that the ledger split from this one have files whose names begin in the same way. */
  readonly start: string;
  readonly format: StoredFormat;
  /** Returns the content of the file for these deliveries. */
  readonly contentOf: (batch: Batch) => Buffer | Promise<Buffer>;
}

/**
 * Writes a batch to a drop as one file. If a delivery may have arrived, reads the files of earlier attempts first, writes only the deliveries
 * that none of them contains, and changes no file. This is necessary because a consumer may have read the file of the whole batch, and the
 * ledger may have halved the batch since then.
 * @throws SinkUnavailable
 */
export async function writeBatch(
  drop: Drop,
  batch: Batch,
  file: BatchFile,
  signal: AbortSignal,
  attempt?: AttemptUnderWay,
): Promise<void> {
  const { name, start, format, contentOf } = file;
  if (!batch.deliveries.some(({ mayHaveArrived }) => mayHaveArrived))
    return drop.write(name, await contentOf(batch), signal, attempt);
  const choose = (earlier: AsyncIterable<DroppedFile>) => fileOfRest(drop, batch, file, earlier);
  await drop.writeRest({ start, ending: format.ending }, choose, signal, attempt);
}

/** Returns the file of the deliveries that no earlier file contains; undefined if there are none. */
async function fileOfRest(
  drop: Drop,
  batch: Batch,
  { name, format, contentOf }: BatchFile,
  earlier: AsyncIterable<DroppedFile>,
): Promise<{ name: string; content: Buffer } | undefined> {
  let isTaken = false;
  const written = new Set<string>();
  for await (const one of earlier) {
    if (one.file === drop.nameOf(name)) isTaken = true;
    for await (const delivery of deliveriesIn(format, one)) written.add(delivery);
  }
  const deliveries = batch.deliveries.filter(({ id }) => !written.has(id));
  if (deliveries.length === 0) return undefined;
  const content = await contentOf({ ...batch, deliveries });
  return { name: isTaken ? furtherName(name, format.ending, content) : name, content };
}

/** Returns a name derived from the content, so that a repeat has the same name: `leads-20261120T100000.000Z-b17-5d41402a.csv`. */
function furtherName(name: string, ending: string, content: Buffer): string {
  return `${name.slice(0, -ending.length)}-${hash('sha256', content).slice(0, 8)}${ending}`;
}
