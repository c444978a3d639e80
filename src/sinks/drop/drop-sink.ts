import type { Batch } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import { printStamp } from '../../platform/text/human-readable.ts';
import type { AttemptUnderWay, Preview, Sink, StoredLead, TestResult } from '../sink.ts';
import type { Drop } from './drop.ts';
import { leadsInDrop, type StoredFormat } from './leads-in-drop.ts';
import { writeBatch } from './write-batch.ts';

/** How a sink writes the files of its batches. */
export interface FileForm {
  readonly format: StoredFormat;
  /** The folder of a batch's file, with a `/` at the end; empty if the file is in the drop itself. */
  readonly folderOf: (batch: Batch) => string;
  readonly contentOf: (batch: Batch) => Buffer | Promise<Buffer>;
  /** Returns the leads of a batch as people can read them. */
  readonly textOf: (batch: Batch) => string;
}

/** Writes one file per batch to a drop. The batch determines the file name, so a repeat finds the file of the first attempt. */
export class DropSink implements Sink {
  readonly #drop: Drop;
  readonly #form: FileForm;

  constructor(drop: Drop, form: FileForm) {
    this.#drop = drop;
    this.#form = form;
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#drop.check(signal);
  }

  async deliver(batch: Batch, signal: AbortSignal, attempt?: AttemptUnderWay): Promise<readonly Outcome[]> {
    const { format, contentOf } = this.#form;
    const file = { name: this.#nameOf(batch), start: this.#startOf(batch), format, contentOf };
    await writeBatch(this.#drop, batch, file, signal, attempt);
    return batch.deliveries.map(() => ({ kind: 'delivered' }));
  }

  /** Writes a file that readers of `leads-*` and of the format's ending ignore. */
  async test(batch: Batch, signal: AbortSignal): Promise<TestResult> {
    const { format, contentOf } = this.#form;
    const name = `test-${printStamp(batch.createdAt)}${format.ending}.test`;
    await this.#drop.write(name, await contentOf(batch), signal);
    return {
      arrived: true,
      what: `leadsync wrote ${this.#drop.nameOf(name)} as it writes leads. You can remove it.`,
    };
  }

  preview(batch: Batch): readonly Preview[] {
    return [
      { target: this.#drop.targetOf(this.#nameOf(batch)), fields: {}, content: this.#form.textOf(batch) },
    ];
  }

  storedLeads(signal: AbortSignal): AsyncIterable<StoredLead> {
    return leadsInDrop(this.#drop, this.#form.format, signal);
  }

  close(): Promise<void> {
    return this.#drop.close();
  }

  /** Returns a name such as `leads-20261120T100000.000Z-b17.csv`, which sorts by time and is valid on every file system. */
  #nameOf(batch: Batch): string {
    return `${this.#startOf(batch)}${batch.id}${this.#form.format.ending}`;
  }

  /** Returns the beginning of the name of a batch's file. The batches that leadsync split from it share this beginning. */
  #startOf(batch: Batch): string {
    return `${this.#form.folderOf(batch)}leads-${printStamp(batch.createdAt)}-`;
  }
}
