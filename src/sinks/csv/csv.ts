import { z } from 'zod';
import type { Batch } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import { neutraliseCell } from '../../platform/text/formula-injection.ts';
import { printStamp } from '../../platform/text/human-readable.ts';
import type { Drop } from '../drop/drop.ts';
import { bucketOptions, placeNames, placeOptions, requireOnePlace } from '../drop/drop-options.ts';
import { leadsInDrop } from '../drop/leads-in-drop.ts';
import { openDrop } from '../drop/open-drop.ts';
import { writeBatch } from '../drop/write-batch.ts';
import type { AttemptUnderWay, Preview, Sink, StoredLead, TestResult } from '../sink.ts';
import { defineSink } from '../sink-type.ts';
import { csvFile } from './csv-file.ts';
import { storedFormat } from './stored-leads.ts';

/**
 * The options of a csv sink, without those common to every sink.
 */
export const csvOptions = z
  .strictObject({
    ...placeOptions('The folder to drop files in. leadsync creates it if it is missing.'),
    formulas: z
      .enum(['neutralise', 'keep'])
      .default('neutralise')
      .describe(
        'What to do with a cell that a spreadsheet would run as a formula: `neutralise` puts an apostrophe in front, `keep` leaves it unchanged.',
      ),
    bom: z
      .boolean()
      .default(false)
      .describe('Whether each file begins with a byte-order mark, by which Excel recognises UTF-8.'),
    ...bucketOptions,
  })
  .superRefine(requireOnePlace);

type ContentOptions = Pick<z.output<typeof csvOptions>, 'formulas' | 'bom'>;

/** Writes one file per batch. leadsync never changes a file, so an erasure does not reach it, but leadsync can read the files back. */
export const csv = defineSink({
  type: 'csv',
  summary: 'Writes leads as CSV files, in a folder or a bucket. Each file is complete the moment it appears.',
  options: csvOptions,
  paths: ['directory'],
  place: placeNames,
  checked: () => 'Files can be written there.',
  defaults: {
    events: ['created'],
    batchMax: 1000,
    batchWaitMs: 5 * 60_000,
    concurrency: 1,
    timeoutMs: 60_000,
  },
  setup: {
    option: 'directory',
    question: 'the folder to drop files in',
    standard: './drop',
    entry: (
      directory,
    ) => `  drop:                              # a complete CSV file when 1000 leads wait or the oldest has waited 5 minutes
    type: csv
    directory: ${directory}
    batch: { max: 1000, wait: 5m }
`,
  },
  open: (options, parts) => new CsvSink(options, openDrop(options, parts)),
});

/** Writes one file per batch. The batch determines the file name, so a repeat finds the file of the first attempt. */
export class CsvSink implements Sink {
  readonly #options: ContentOptions;
  readonly #drop: Drop;

  constructor(options: ContentOptions, drop: Drop) {
    this.#options = options;
    this.#drop = drop;
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#drop.check(signal);
  }

  async deliver(batch: Batch, signal: AbortSignal, attempt?: AttemptUnderWay): Promise<readonly Outcome[]> {
    const file = {
      name: fileName(batch),
      start: startOf(batch),
      format: storedFormat,
      contentOf: (batch: Batch) => this.#contentOf(batch),
    };
    await writeBatch(this.#drop, batch, file, signal, attempt);
    return batch.deliveries.map(() => ({ kind: 'delivered' }));
  }

  /** Writes a file that readers of `leads-*.csv` and of `*.csv` ignore. */
  async test(batch: Batch, signal: AbortSignal): Promise<TestResult> {
    const name = `test-${printStamp(batch.createdAt)}.csv.test`;
    await this.#drop.write(name, this.#contentOf(batch), signal);
    return {
      arrived: true,
      what: `leadsync wrote ${this.#drop.nameOf(name)} as it writes leads. You can remove it.`,
    };
  }

  preview(batch: Batch): readonly Preview[] {
    const target = this.#drop.targetOf(fileName(batch));
    return [{ target, fields: {}, content: this.#contentOf(batch).toString() }];
  }

  storedLeads(signal: AbortSignal): AsyncIterable<StoredLead> {
    return leadsInDrop(this.#drop, storedFormat, signal);
  }

  close(): Promise<void> {
    return this.#drop.close();
  }

  #contentOf(batch: Batch): Buffer {
    const { formulas, bom } = this.#options;
    const makeSafe = formulas === 'neutralise' ? neutraliseCell : (cell: string) => cell;
    return csvFile(batch, { makeSafe, bom });
  }
}

/** Returns a name such as `leads-20261120T100000.000Z-b17.csv`, which sorts by time and is valid on every file system. */
function fileName(batch: Batch): string {
  return `${startOf(batch)}${batch.id}.csv`;
}

/** Returns the beginning of the name of a batch's file. The batches that leadsync split from it share this beginning. */
function startOf({ createdAt }: Batch): string {
  return `leads-${printStamp(createdAt)}-`;
}
