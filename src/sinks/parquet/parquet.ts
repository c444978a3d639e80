import type { Batch } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import { printStamp } from '../../platform/text/human-readable.ts';
import type { Drop } from '../drop/drop.ts';
import { leadsInDrop } from '../drop/leads-in-drop.ts';
import { writeBatch } from '../drop/write-batch.ts';
import type { AttemptUnderWay, Preview, Sink, StoredLead, TestResult } from '../sink.ts';
import { isMixed, mappedColumns } from '../table/mapped-columns.ts';
import { columnsOfLeads, columnsOfMapped, mappedRow, previewRow, tableRow } from './rows.ts';
import { storedFormat } from './stored-leads.ts';

/** Writes one file per batch. The batch determines the file name, so a repeat finds the file of the first attempt. */
export class ParquetSink implements Sink {
  readonly #drop: Drop;

  constructor(drop: Drop) {
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
      contentOf,
    };
    await writeBatch(this.#drop, batch, file, signal, attempt);
    return batch.deliveries.map(() => ({ kind: 'delivered' }));
  }

  /** Writes a file that readers of `*.parquet` ignore. */
  async test(batch: Batch, signal: AbortSignal): Promise<TestResult> {
    const name = `test-${printStamp(batch.createdAt)}.parquet.test`;
    await this.#drop.write(name, await contentOf(batch), signal);
    return {
      arrived: true,
      what: `leadsync wrote ${this.#drop.nameOf(name)} as it writes leads. You can remove it.`,
    };
  }

  /** Returns the rows as lines of JSON, because people cannot read a Parquet file. */
  preview(batch: Batch): readonly Preview[] {
    const target = this.#drop.targetOf(fileName(batch));
    const { columns, rows } = tableOf(batch);
    return [{ target, fields: {}, content: rows.map((row) => previewRow(row, columns)).join('') }];
  }

  storedLeads(signal: AbortSignal): AsyncIterable<StoredLead> {
    return leadsInDrop(this.#drop, storedFormat, signal);
  }

  close(): Promise<void> {
    return this.#drop.close();
  }
}

/** Returns a name such as `day=2026-11-20/leads-20261120T100000.000Z-b17.parquet`, with the day on which the batch was formed, in UTC. */
function fileName(batch: Batch): string {
  return `${startOf(batch)}${batch.id}.parquet`;
}

/** Returns the beginning of the name of a batch's file. The batches that leadsync split from it share this beginning. */
function startOf({ createdAt }: Batch): string {
  return `day=${createdAt.toISOString().slice(0, 10)}/leads-${printStamp(createdAt)}-`;
}

async function contentOf(batch: Batch): Promise<Buffer> {
  const { ParquetFile } = await import('../../parquet/parquet-file.ts'); // with packages that only writing needs
  const { columns, rows } = tableOf(batch);
  const file = new ParquetFile(columns);
  return Buffer.concat([file.group(rows), file.end()]);
}

/** Returns the columns and rows of a batch: those of its mapping, or those of the table `leads`. */
function tableOf(batch: Batch) {
  const fields = mappedColumns(batch);
  if (!fields) return { columns: columnsOfLeads, rows: batch.deliveries.map(tableRow) };
  const rows = batch.deliveries.map((delivery) => mappedRow(delivery, fields, isMixed(batch)));
  return { columns: columnsOfMapped(fields, batch), rows };
}
