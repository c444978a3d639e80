import type Database from 'better-sqlite3';
import { sizeBeforeShrinking } from '../../leads/listing-shrinkage.ts';
import { dependsOnListing, hasResult, hasShrunk, statusesOf } from '../../leads/poll-result.ts';
import type { Count, Order, PollSearch, Rows, StoredPoll } from '../contract/page-rows.ts';
import { POLL_STATUSES, type PollStatus } from '../contract/status-rows.ts';
import {
  type Cursor,
  countOf,
  FROM_NEWEST,
  inEachOrder,
  type Merging,
  mergedRows,
} from '../rules/queries/keyset-page.ts';
import type { StatusQueries } from './status-queries.ts';

/** Maximum number of polls that are read to find the one whose listing shrank. */
const MAX_SIZES = 50_000;
/** Maximum number of polls that are read to count those with a result that depends on the listing. */
const MAX_READ_FOR_COUNT = 5_000;

type Row = Omit<StoredPoll, 'is_shrunk'> & Cursor;

/** Reads polls, in the order in which they started. */
export class PollList {
  readonly #db: Database.Database;
  readonly #status: StatusQueries;
  readonly #sql;

  constructor(db: Database.Database, status: StatusQueries) {
    this.#db = db;
    this.#status = status;
    this.#sql = {
      count: db
        .prepare<[string, string, number], number>(
          `SELECT count(*) FROM (SELECT 1 FROM polls INDEXED BY _polls_by_status WHERE source = ? AND status = ? LIMIT ?)`,
        )
        .pluck(),
      sources: db.prepare<[], string>('SELECT source FROM _sources').pluck(),
      sizes: db.prepare<[string], { poll: number; listed: number }>(
        `SELECT poll_id AS poll, leads_listed AS listed FROM polls INDEXED BY _polls_by_status
         WHERE source = ? AND status = 'success' ORDER BY poll_id DESC LIMIT ${MAX_SIZES}`,
      ),
    };
  }

  page(search: PollSearch, limit: number, after: Cursor, order: Order): Rows<StoredPoll> {
    const shown = this.#asShown(search);
    const { rows, next } = this.#read(search, shown, after, { limit, order });
    return { rows: rows.map(shown), next };
  }

  /** Returns the number of matching polls, but counts at most `most`. Reads their rows only if the result depends on the listing. */
  count(search: PollSearch, most: number): Count {
    if (search.result !== undefined && dependsOnListing(search.result)) {
      const reading = { limit: most, order: 'newest', most: MAX_READ_FOR_COUNT } as const;
      const { rows, next } = this.#read(search, this.#asShown(search), FROM_NEWEST, reading);
      return countOf(rows.length, most, next !== null);
    }
    const counts = this.#listed(search).map(
      ({ source, status }) => this.#sql.count.get(source, status, most) ?? 0,
    );
    return countOf(
      counts.reduce((sum, count) => sum + count, 0),
      most,
    );
  }

  #read(
    { result, ...search }: PollSearch,
    shown: (row: Row) => StoredPoll,
    { no }: Cursor,
    reading: Merging,
  ): Rows<Row> {
    const lists = this.#listed({ result, ...search }).map(({ source, status }) =>
      // Prepares a statement for each list, because the same statement cannot be iterated twice at the same time.
      this.#db.prepare<[string, string, number], Row>(POLLS[reading.order]).iterate(source, status, no),
    );
    return mergedRows(lists, (row) => result === undefined || hasResult(shown(row), result), reading);
  }

  /** Returns the sources and statuses of the polls that may match. */
  #listed({
    source,
    status,
    result,
  }: PollSearch): { readonly source: string; readonly status: PollStatus }[] {
    const statuses = (result ? statusesOf(result) : POLL_STATUSES).filter(
      (one) => status === undefined || one === status,
    );
    return this.#sources(source).flatMap((one) => statuses.map((of) => ({ source: one, status: of })));
  }

  /** Returns the function that completes a row. */
  #asShown({ source }: PollSearch): (row: Row) => StoredPoll {
    const shrunkAfter = new Map(this.#sources(source).map((one) => [one, this.#lastBeforeShrinking(one)]));
    return ({ at: _, no: __, ...poll }) => {
      const after = shrunkAfter.get(poll.source) ?? Number.POSITIVE_INFINITY;
      return { ...poll, is_shrunk: hasShrunk(poll) || (isComplete(poll.status) && poll.poll_id > after) };
    };
  }

  #sources(source: string | undefined): readonly string[] {
    return source === undefined ? this.#sql.sources.all() : [source];
  }

  /**
   * Returns the last poll of a source before its listing shrank; undefined if its last complete listing is not far smaller than those of the week
   * before. Returns 0 if no such poll is known.
   */
  #lastBeforeShrinking(source: string): number | undefined {
    const status = this.#status.source(source);
    if (sizeBeforeShrinking(status) === undefined) return undefined;
    for (const { poll, listed } of this.#sql.sizes.iterate(source))
      if (sizeBeforeShrinking({ ...status, listed }) === undefined) return poll;
    return 0;
  }
}

/** Whether a poll with this status read or confirmed a complete listing, on which its result depends. */
function isComplete(status: PollStatus): boolean {
  return status === 'success' || status === 'unchanged';
}

const POLLS = inEachOrder(
  ({ follows, sorted }) => `SELECT *, 0 AS at, poll_id AS no,
    CASE status WHEN 'success' THEN (SELECT b.leads_listed FROM polls b INDEXED BY _polls_by_source
      WHERE b.source = polls.source AND b.poll_id < polls.poll_id AND b.status IN ('success', 'unchanged')
      ORDER BY b.poll_id DESC LIMIT 1) END AS listed_before,
    CASE status WHEN 'success' THEN leads_rejected WHEN 'unchanged' THEN coalesce((SELECT b.leads_rejected
      FROM polls b INDEXED BY _polls_by_status WHERE b.source = polls.source AND b.status = 'success'
      AND b.poll_id < polls.poll_id ORDER BY b.poll_id DESC LIMIT 1), 0) ELSE 0 END AS listing_rejected
  FROM polls INDEXED BY _polls_by_status
  WHERE source = ? AND status = ? AND poll_id ${follows} ? ORDER BY poll_id ${sorted}`,
);
