import { join } from 'node:path';
import { z } from 'zod';
import type { Batch } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import { disk, type Files } from '../../platform/files/files.ts';
import { printStamp } from '../../platform/text/format.ts';
import { FileDrop } from '../file-drop.ts';
import {
  type AttemptUnderWay,
  defineSink,
  type Preview,
  type Sink,
  type SinkParts,
  type StoredLead,
  type TestResult,
} from '../sink.ts';
import { leadsInFiles } from '../stored-files.ts';
import { csvFile } from './csv-file.ts';
import { neutraliseCell } from './formulas.ts';
import { storedFormat } from './stored-leads.ts';

/**
 * What a csv sink has beside the options of every sink. A relative `directory` is taken from the configuration's
 * folder.
 */
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

/** One file a batch. Its files can be read again (`holds`), and are never changed: nobody is erased from them. */
export const csv = defineSink({
  type: 'csv',
  summary: 'Drops leads as CSV files, each complete the moment it appears.',
  options: csvOptions,
  paths: ['directory'],
  place: ['directory'],
  defaults: {
    events: ['created'],
    batchMax: 1000,
    batchWaitMs: 5 * 60_000,
    concurrency: 1,
    timeoutMs: 60_000,
  },
  setup: {
    option: 'directory',
    question: 'the folder that files are dropped in',
    standard: './drop',
    entry: (
      directory,
    ) => `  drop:                              # complete CSV files, made when 1000 leads wait or the oldest has waited 5 minutes
    type: csv
    directory: ${directory}
    batch: { max: 1000, wait: 5m }
`,
  },
  open: (options, parts) => new CsvSink(options, parts, disk),
});

/** Writes one file per batch. Its name is made of the batch, so that a repeat finds what the first attempt wrote. */
export class CsvSink implements Sink {
  readonly #options: z.output<typeof csvOptions>;
  readonly #files: Files;
  readonly #drop: FileDrop;

  constructor(options: z.output<typeof csvOptions>, parts: SinkParts, files: Files) {
    this.#options = options;
    this.#files = files;
    this.#drop = new FileDrop(options.directory, parts, files);
  }

  /** Sees whether the folder can be written to, or made. */
  check(signal: AbortSignal): Promise<void> {
    return this.#drop.check(signal);
  }

  async deliver(batch: Batch, signal: AbortSignal, attempt?: AttemptUnderWay): Promise<readonly Outcome[]> {
    await this.#drop.write(fileName(batch), this.#contentOf(batch), signal, attempt);
    return batch.deliveries.map(() => ({ kind: 'delivered' }));
  }

  /** Leaves a file that readers of `leads-*.csv` pass by, and those of `*.csv` as well. */
  async test(batch: Batch, signal: AbortSignal): Promise<TestResult> {
    const name = `test-${printStamp(batch.createdAt)}.csv.test`;
    await this.#drop.write(name, this.#contentOf(batch), signal);
    const path = join(this.#options.directory, name);
    return { arrived: true, what: `${path} was written in the way that leads are. It can be removed.` };
  }

  preview(batch: Batch): readonly Preview[] {
    const target = `file ${join(this.#options.directory, fileName(batch))}`;
    return [{ target, fields: {}, content: this.#contentOf(batch).toString() }];
  }

  storedLeads(signal: AbortSignal): AsyncIterable<StoredLead> {
    return leadsInFiles(this.#files, this.#options.directory, storedFormat, signal);
  }

  async close(): Promise<void> {
    // Nothing stays open between two batches.
  }

  #contentOf({ deliveries }: Batch): Buffer {
    const { formulas, bom } = this.#options;
    const makeSafe = formulas === 'neutralise' ? neutraliseCell : (cell: string) => cell;
    return csvFile(deliveries, { makeSafe, bom });
  }
}

/** `leads-20261120T100000.000Z-b17.csv`: sorts by time, and is good for every file system. */
function fileName(batch: Batch): string {
  return `leads-${printStamp(batch.createdAt)}-${batch.id}.csv`;
}
