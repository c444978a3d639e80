import type { Batch } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import { neutraliseCell } from '../../platform/text/formula-injection.ts';
import { printStamp } from '../../platform/text/human-readable.ts';
import type { Drop } from '../drop/drop.ts';
import { leadsInDrop } from '../drop/leads-in-drop.ts';
import { writeBatch } from '../drop/write-batch.ts';
import type { AttemptUnderWay, Preview, Sink, StoredLead, TestResult } from '../sink.ts';
import { csvFile } from './csv-file.ts';
import type { ContentOptions } from './options.ts';
import { storedFormat } from './stored-leads.ts';

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
