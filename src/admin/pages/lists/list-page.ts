import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import type { Page as Rows } from '../../contract/operations.ts';
import { RequestError } from '../../contract/request-error.ts';
import type { OperationName } from '../../contract/rights.ts';
import type { Count } from '../../contract/values.ts';
import { withQuery } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import type { PageName } from '../parts/layout.ts';
import type { Site } from '../parts/site.ts';
import { errorText, faultsOf, filterForm, type ParsedFilter, queryOf, readFilter } from './filters.ts';
import { pageRequest, pager } from './pager.ts';
import { type List, sendCsv } from './send-csv.ts';

/**
 * A page that lists the rows that match a filter. If `rows` rejects with a RequestError below status 500, the text of the error replaces the
 * rows below the form.
 */
export interface ListPage<Filter, Row extends object> extends List<Filter, Row> {
  readonly name: PageName;
  /** Noun for a row, such as `lead`. */
  readonly noun: string;
  /** Content above the filter. */
  readonly above?: Content;
  /** Code of the problem that the rows of a filter are about. */
  readonly problem?: (filtered: ParsedFilter<Filter>) => string | undefined;
  /** Content above the rows that updates itself with them. */
  readonly intro?: (filtered: ParsedFilter<Filter>) => Content | Promise<Content>;
  /** Returns the number of matching rows; undefined if counting them would take too long. */
  readonly count?: (filter: Filter) => Promise<Count | undefined>;
  readonly body: (filtered: ParsedFilter<Filter>, rows: Rows<Row>) => Content;
}

/**
 * Adds a page with the rows that match a filter, and a CSV file of these rows at the same address with `.csv`. `pageOf` builds the page for the
 * query of a request.
 */
export function addList<Filter, Row extends object>(
  app: FastifyInstance,
  site: Site,
  path: `/${string}`,
  operation: OperationName,
  pageOf: (query: URLSearchParams) => ListPage<Filter, Row> | Promise<ListPage<Filter, Row>>,
): void {
  const options = { config: { operation } };
  app.get(path, options, async (request, reply) =>
    show(site, request, reply, await pageOf(queryOf(request))),
  );
  app.get(`${path}.csv`, options, async (request, reply) =>
    sendCsv(request, reply, await pageOf(queryOf(request))),
  );
}

/** Sends the page with the rows that match the filter. For an invalid filter, the page shows the form with the faults, and no rows. */
async function show<Filter, Row extends object>(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  list: ListPage<Filter, Row>,
): Promise<FastifyReply> {
  const { name, path, above, fields, schema } = list;
  const filtered = readFilter(queryOf(request), fields, schema, new Date());
  const about = filtered.input['source'] ?? filtered.input['sink'];
  const page = {
    title: name,
    name,
    ...(about && { about }),
    problem: list.problem?.(filtered),
    above: [above, filterForm(path, fields, filtered)],
  };
  if (filtered.filter === undefined)
    return site.show(request, reply, { ...page, still: faultsOf(filtered, fields), status: 400 });
  try {
    const [rows, count, intro] = await Promise.all([
      list.rows(filtered.filter, pageRequest(filtered)),
      list.count?.(filtered.filter),
      list.intro?.(filtered),
    ]);
    const live = [
      intro,
      rows.rows.length > 0 && summary(list, filtered, count),
      list.body(filtered, rows),
      pager(path, filtered, rows),
    ];
    return await site.show(request, reply, { ...page, live });
  } catch (error) {
    if (!(error instanceof RequestError) || error.status >= 500) throw error;
    return site.show(request, reply, { ...page, still: errorText(error), status: error.status });
  }
}

/** Returns the number of matching rows, and a link to a CSV file of these rows. */
function summary<Filter, Row extends object>(
  { path, noun }: ListPage<Filter, Row>,
  { input }: ParsedFilter<Filter>,
  count: Count | undefined,
): VNode {
  const least = count?.isAtLeast ? 'At least ' : '';
  const words = count && html`<span>${least}${countOf(count.count, noun)}</span>`;
  return html`<p class="summary">${words} <a href=${withQuery(`${path}.csv`, input)} download>Download as CSV</a></p>`;
}
