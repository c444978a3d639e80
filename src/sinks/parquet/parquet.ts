import type { Batch } from '../../leads/delivery.ts';
import type { Drop } from '../drop/drop.ts';
import { DropSink } from '../drop/drop-sink.ts';
import { isMixed, mappedColumns } from '../table/mapped-columns.ts';
import { columnsOfLeads, columnsOfMapped, mappedRow, previewRow, tableRow } from './rows.ts';
import { storedFormat } from './stored-leads.ts';

/** Writes a Parquet file for each batch. */
export class ParquetSink extends DropSink {
  constructor(drop: Drop) {
    super(drop, { format: storedFormat, folderOf: dayOf, contentOf, textOf });
  }
}

/** Returns the folder with the day on which the batch was formed, in UTC: `day=2026-11-20/`. */
function dayOf({ createdAt }: Batch): string {
  return `day=${createdAt.toISOString().slice(0, 10)}/`;
}

/** Returns the rows as lines of JSON, because people cannot read a Parquet file. */
function textOf(batch: Batch): string {
  const { columns, rows } = tableOf(batch);
  return rows.map((row) => previewRow(row, columns)).join('');
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
