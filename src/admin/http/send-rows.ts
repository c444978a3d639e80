import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { csvLine } from '../../platform/text/csv-line.ts';
import { csvRecord } from '../../platform/text/csv-record.ts';
import type { PageRequest, Page as Rows } from '../contract/operations.ts';

/** Number of rows that are read at a time. */
const ROWS = 1_000;

/** The rows of a list. */
export interface RowSource<Row extends object> {
  /** Returns a page of the rows. */
  readonly rows: (page: PageRequest) => Promise<Rows<Row>>;
  /** Fields of a row in a CSV file. */
  readonly columns: readonly (keyof Row & string)[];
}

/**
 * Sends all rows of a list as a CSV file, part by part. Text is written so that no spreadsheet evaluates it as a formula. Rejects if the first rows
 * cannot be read, before the file begins.
 * @param name name of the file, without `.csv`
 */
export async function sendRows<Row extends object>(
  reply: FastifyReply,
  name: string,
  { rows, columns }: RowSource<Row>,
): Promise<FastifyReply> {
  const first = await rows({ limit: ROWS });
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(Readable.from(linesOf(columns, first, (after) => rows({ limit: ROWS, after }))));
}

async function* linesOf<Row extends object>(
  columns: readonly (keyof Row & string)[],
  first: Rows<Row>,
  more: (after: string) => Promise<Rows<Row>>,
): AsyncGenerator<string> {
  yield csvLine(columns);
  for (let page = first; ; page = await more(page.next)) {
    yield page.rows.map((row) => csvRecord(row, columns)).join('');
    if (page.next === null) return;
  }
}
