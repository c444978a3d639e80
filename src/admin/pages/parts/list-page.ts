import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Page as Rows } from '../../contract/operations.ts';
import { RequestError } from '../../contract/request-error.ts';
import type { Content } from './content.ts';
import {
  errorText,
  type Field,
  faultsOf,
  filterForm,
  type ParsedFilter,
  queryOf,
  readFilter,
} from './filters.ts';
import type { PageName } from './layout.ts';
import type { Site } from './site.ts';

/**
 * A page that lists the rows of a filter. If `rows` rejects with a RequestError below status 500, the text of the error replaces the rows
 * below the form.
 */
export interface ListPage<Filter, Row> {
  readonly name: PageName;
  readonly path: string;
  /** Content above the filter. */
  readonly above?: Content;
  readonly fields: readonly Field[];
  readonly schema: z.ZodType<Filter>;
  readonly rows: (filter: Filter, filtered: ParsedFilter<Filter>) => Promise<Rows<Row>>;
  readonly body: (filtered: ParsedFilter<Filter>, rows: Rows<Row>) => Content;
}

/** Sends the page with the rows that match the filter. For an invalid filter, the page shows the form with the faults, and no rows. */
export async function showList<Filter, Row>(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  { name, path, above, fields, schema, rows, body }: ListPage<Filter, Row>,
): Promise<FastifyReply> {
  const filtered = readFilter(queryOf(request), fields, schema, new Date());
  const page = { title: name, name, above: [above, filterForm(path, fields, filtered)] };
  if (filtered.filter === undefined)
    return site.show(request, reply, { ...page, still: faultsOf(filtered, fields), status: 400 });
  try {
    const live = body(filtered, await rows(filtered.filter, filtered));
    return await site.show(request, reply, { ...page, live });
  } catch (error) {
    if (!(error instanceof RequestError) || error.status >= 500) throw error;
    return site.show(request, reply, { ...page, still: errorText(error), status: error.status });
  }
}
