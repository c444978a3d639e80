import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { PageRequest, Page as Rows } from '../../contract/operations.ts';
import { RequestError } from '../../contract/request-error.ts';
import { sendRows } from '../../http/send-rows.ts';
import { type Field, queryOf, readFilter } from './filters.ts';

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

/**
 * Sends all rows that match the filter in the address, as a CSV file with the fields of the API, in the order of the page.
 * @throws RequestError if the filter is not valid
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
  const name = [path.slice(1), ...Object.values(input).filter((text) => /^[\w-]{1,40}$/.test(text))].join(
    '-',
  );
  return sendRows(reply, name, { columns, rows: (page) => rows(filter, page) });
}
