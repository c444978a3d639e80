import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { csvLine } from '../../../platform/text/csv-line.ts';
import { neutraliseCell } from '../../../platform/text/formula-injection.ts';
import type { PageRequest, Page as Rows } from '../../contract/operations.ts';
import { RequestError } from '../../contract/request-error.ts';
import { type Field, queryOf, readFilter } from './filters.ts';

/** Number of rows that are read at a time. */
const ROWS = 1_000;

/** The rows of a filter. */
export interface List<Filter, Row extends object> {
  /** Address of the page with the list. */
  readonly path: `/${string}`;
  readonly fields: readonly Field[];
  readonly schema: z.ZodType<Filter>;
  readonly rows: (filter: Filter, page: PageRequest) => Promise<Rows<Row>>;
  /** Fields of a row in a CSV file. */
  readonly columns: readonly (keyof Row & string)[];
}

/** A value of a row: text, a number, a truth value, an object or a list, or null. */
type Value = string | number | boolean | object | null;

/**
 * Sends all rows that match the filter in the address, as a CSV file with the fields of the API, in the order of the page. Text is written so that no
 * spreadsheet evaluates it as a formula. @throws RequestError if the filter is not valid
 */
export async function sendCsv<Filter, Row extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  { path, fields, schema, rows, columns }: List<Filter, Row>,
): Promise<FastifyReply> {
  const { filter, input } = readFilter(queryOf(request), fields, schema, new Date());
  if (filter === undefined)
    throw new RequestError(
      400,
      'wrong-request',
      'The filter is not valid.',
      `Choose it on the page ${path}.`,
    );
  // Reports an unknown name, or a ledger that cannot be read, before the file begins.
  const first = await rows(filter, { limit: ROWS });
  const more = (after: string) => rows(filter, { limit: ROWS, after });
  const name = [path.slice(1), ...Object.values(input).filter((text) => /^[\w-]{1,40}$/.test(text))].join(
    '-',
  );
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(Readable.from(linesOf(columns, first, more)));
}

async function* linesOf<Row extends object>(
  columns: readonly (keyof Row & string)[],
  first: Rows<Row>,
  more: (after: string) => Promise<Rows<Row>>,
): AsyncGenerator<string> {
  yield csvLine(columns);
  for (let page = first; ; page = await more(page.next)) {
    const lines = page.rows.map((row) => csvLine(columns.map((column) => cellOf(row[column] as Value))));
    yield lines.join('');
    if (page.next === null) return;
  }
}

function cellOf(value: Value): string | null {
  if (value === null) return null;
  if (typeof value === 'string') return neutraliseCell(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
