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
 * A page of rows that a filter narrows. A RequestError of `rows` below 500 is shown in their place; the form at `path` stays
 * above it.
 */
export interface ListPage<Filter, Row> {
  readonly name: PageName;
  readonly path: string;
  readonly fields: readonly Field[];
  readonly schema: z.ZodType<Filter>;
  readonly rows: (filter: Filter, filtered: ParsedFilter<Filter>) => Promise<Rows<Row>>;
  readonly body: (filtered: ParsedFilter<Filter>, rows: Rows<Row>) => Content;
}

/** Answers with the rows that a filter means. One that cannot be read, or means nothing there is, is given back with the reason. */
export async function showList<Filter, Row>(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  { name, path, fields, schema, rows, body }: ListPage<Filter, Row>,
): Promise<FastifyReply> {
  const filtered = readFilter(queryOf(request), fields, schema, new Date());
  const page = { title: name, name, above: filterForm(path, fields, filtered) };
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
