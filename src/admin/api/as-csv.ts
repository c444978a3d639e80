import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Page, PageRequest } from '../contract/operations.ts';
import { RequestError } from '../contract/request-error.ts';
import { type RowSource, sendRows } from '../http/send-rows.ts';

/** Sentence for the description of a list that has a CSV file. */
export const HAS_CSV = 'With `Accept: text/csv`, returns all rows that match as a CSV file, without paging.';

/**
 * Returns the page of a list or, if the client accepts only CSV, sends all rows as a CSV file, like the download on the page.
 * @throws RequestError if the client requests a page of a CSV file, which has no place for a cursor
 */
export async function listed<Row extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  list: RowSource<Row> & { readonly page: PageRequest },
): Promise<Page<Row>> {
  if (!wantsCsv(request, reply)) return list.rows(list.page);
  // A stream is not serialized by the schema of the answer.
  const { columns, rows, page } = list;
  const all: RowSource<Row> = { columns, rows: ({ limit, after }) => rows({ ...page, limit, after }) };
  return (await sendRows(reply, name, all)) as unknown as Page<Row>;
}

/** Whether the client wants a CSV file. Marks the answer as one that depends on the header `Accept`. @throws RequestError */
function wantsCsv({ headers, url }: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'accept');
  if (!headers.accept?.startsWith('text/csv')) return false;
  const { searchParams } = new URL(url, 'http://localhost');
  if (!searchParams.has('limit') && !searchParams.has('after')) return true;
  throw new RequestError(
    400,
    'wrong-request',
    'A CSV file has all rows that match, so it takes neither `limit` nor `after`.',
    'Omit them, or request JSON.',
  );
}
