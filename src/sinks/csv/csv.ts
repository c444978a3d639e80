import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Batch } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import { DeadlinePassed, withinDeadline } from '../../platform/deadline.ts';
import { disk, type Files, makeFolderDurably, TEMPORARY, writeFileDurably } from '../../platform/files.ts';
import { codeOf } from '../../platform/network-failure.ts';
import {
  defineSink,
  type Preview,
  type Sink,
  type SinkParts,
  SinkUnavailable,
  type Tested,
} from '../sink.ts';
import { diskFailure, makingFailure } from './disk-failure.ts';
import { neutraliseCell } from './formulas.ts';
import { csvFile } from './rows.ts';

export const csvOptions = z.strictObject({
  directory: z
    .string()
    .min(1, 'must not be empty')
    .refine((path) => !path.includes('\0'), 'must not hold a NUL')
    .describe('The folder that files are dropped in; made when it is missing.'),
  formulas: z
    .enum(['neutralise', 'keep'])
    .default('neutralise')
    .describe(
      'Cells that a spreadsheet would run as a formula: `neutralise` puts an apostrophe in front, `keep` leaves them.',
    ),
  bom: z
    .boolean()
    .default(false)
    .describe('Begins each file with a byte-order mark, by which Excel recognises UTF-8.'),
});

export const csv = defineSink({
  type: 'csv',
  summary: 'Drops leads as CSV files, each complete the moment it appears.',
  options: csvOptions,
  paths: ['directory'],
  defaults: {
    events: ['created'],
    batchMax: 1000,
    batchWaitMs: 5 * 60_000,
    concurrency: 1,
    timeoutMs: 60_000,
  },
  open: (options, parts) => new CsvSink(options, parts, disk),
});

/** Leads are personal data: whoever else should read them shares the group. */
const FILE_MODE = 0o640;
const FOLDER_MODE = 0o750;
/** How far the clock of a file server may be from ours, in ms. */
const CLOCKS_APART_MS = 60_000;

/** Writes one file per batch. Its name is made of the batch, so that a repeat finds what the first attempt wrote. */
export class CsvSink implements Sink {
  readonly #options: z.output<typeof csvOptions>;
  readonly #parts: SinkParts;
  readonly #files: Files;
  #folderMade = false;

  constructor(options: z.output<typeof csvOptions>, parts: SinkParts, files: Files) {
    this.#options = options;
    this.#parts = parts;
    this.#files = files;
  }

  /** Sees whether the folder can be written to, or made. */
  async check(signal: AbortSignal): Promise<void> {
    const { directory } = this.#options;
    await this.#reach(signal, () => this.#probe(directory));
  }

  async deliver(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    await this.#write(fileName(batch), this.#contentOf(batch), signal);
    return batch.deliveries.map(() => ({ kind: 'delivered' }));
  }

  /** Leaves a file that readers of `leads-*.csv` pass by, and those of `*.csv` as well. */
  async test(batch: Batch, signal: AbortSignal): Promise<Tested> {
    const name = `test-${printedTime(batch)}.csv.test`;
    await this.#write(name, this.#contentOf(batch), signal);
    const path = join(this.#options.directory, name);
    return { arrived: true, what: `${path} was written in the way that leads are. It can be removed.` };
  }

  preview(batch: Batch): readonly Preview[] {
    const target = `file ${join(this.#options.directory, fileName(batch))}`;
    return [{ target, fields: {}, content: this.#contentOf(batch).toString() }];
  }

  async close(): Promise<void> {
    // Nothing stays open between two batches.
  }

  #contentOf({ deliveries }: Batch): Buffer {
    const { formulas, bom } = this.#options;
    const makeSafe = formulas === 'neutralise' ? neutraliseCell : (cell: string) => cell;
    return csvFile(deliveries, { makeSafe, bom });
  }

  async #write(name: string, content: Buffer, signal: AbortSignal): Promise<void> {
    await this.#reach(signal, async (signal) => {
      await this.#makeFolder();
      signal.throwIfAborted();
      await this.#removeLeftovers(name);
      await this.#drop(name, content);
    });
  }

  async #drop(name: string, content: Buffer): Promise<void> {
    const { directory } = this.#options;
    const path = join(directory, name);
    const present = await this.#files.read(path);
    // The attempt that wrote it may have ended before its name was safe from a power cut.
    if (present?.equals(content)) await this.#files.syncFolder(directory);
    else await writeFileDurably(this.#files, path, content, FILE_MODE);
  }

  /** Makes the folder once; one that vanishes later may be a mount point, and must not be filled underneath. */
  async #makeFolder(): Promise<void> {
    const { directory } = this.#options;
    if (this.#folderMade) return;
    try {
      await makeFolderDurably(this.#files, directory, FOLDER_MODE);
    } catch (error) {
      throw makingFailure(directory, error);
    }
    this.#folderMade = true;
  }

  /**
   * Removes what attempts that were killed have left: it is personal data that nobody looks after. Those at this very file
   * are over, since it is attempted anew. Younger ones of other batches may belong to a process that is writing now.
   */
  async #removeLeftovers(fileName: string): Promise<void> {
    const { directory } = this.#options;
    for (const name of await this.#files.list(directory)) {
      if (!name.startsWith('.leads-') || !TEMPORARY.test(name)) continue;
      const path = join(directory, name);
      if (name.startsWith(`.${fileName}.`) || (await this.#isLeftover(path))) await this.#files.remove(path);
    }
  }

  async #isLeftover(path: string): Promise<boolean> {
    const modifiedAt = await this.#files.modifiedAt(path).catch(() => undefined); // gone by now: its writer was alive
    if (modifiedAt === undefined) return false;
    return this.#parts.clock.now().getTime() - modifiedAt.getTime() > this.#parts.timeoutMs + CLOCKS_APART_MS;
  }

  /** The folder, or the nearest one above that is there. */
  async #probe(folder: string): Promise<void> {
    try {
      await this.#files.probeFolder(folder);
    } catch (error) {
      const { directory } = this.#options;
      if (codeOf(error) === 'ENOENT' && dirname(folder) !== folder) await this.#probe(dirname(folder));
      else throw folder === directory ? diskFailure(directory, error) : makingFailure(directory, error);
    }
  }

  /** @throws SinkUnavailable for whatever fails, the deadline and the stop included */
  async #reach(stop: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { directory } = this.#options;
    try {
      await withinDeadline(this.#parts.timeoutMs, stop, work);
    } catch (cause) {
      if (stop.aborted)
        throw new SinkUnavailable(`Writing to ${directory} was cut off.`, { hint: '', cause });
      if (cause instanceof SinkUnavailable) throw cause;
      if (!(cause instanceof DeadlinePassed)) throw diskFailure(directory, cause);
      const message = `Writing to ${directory} took longer than ${this.#parts.timeoutMs / 1000} s.`;
      throw new SinkUnavailable(message, { hint: 'See whether it is a network mount that hangs.', cause });
    }
  }
}

/** `leads-20261120T100000.000Z-b17.csv`: sorts by time, and is good for every file system. */
function fileName(batch: Batch): string {
  return `leads-${printedTime(batch)}-${batch.id}.csv`;
}

function printedTime({ createdAt }: Batch): string {
  return createdAt.toISOString().replaceAll(/[-:]/g, '');
}
