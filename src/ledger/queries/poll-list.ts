import type Database from 'better-sqlite3';
import { sizeBeforeShrinking } from '../../leads/listing-shrinkage.ts';
import { hasShrunk, pollResult, statusesOf } from '../../leads/poll-result.ts';
import type { Order, PollSearch, Rows, StoredPoll } from '../contract/page-rows.ts';
import { POLL_STATUSES } from '../contract/status-rows.ts';
import { type Cursor, inEachOrder, mergedRows } from './keyset-page.ts';
import type { StatusQueries } from './status-queries.ts';

/** Maximum number of polls that are read to find the one whose listing shrank. */
const MAX_SIZES = 50_000;

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
      sources: db.prepare<[], string>('SELECT source FROM _sources').pluck(),
      sizes: db.prepare<[string], { poll: number; listed: number }>(
        `SELECT poll_id AS poll, leads_listed AS listed FROM polls INDEXED BY _polls_by_status
         WHERE source = ? AND status = 'success' ORDER BY poll_id DESC LIMIT ${MAX_SIZES}`,
      ),
    };
  }

  page(
    { source, status, result }: PollSearch,
    limit: number,
    { no }: Cursor,
    order: Order,
  ): Rows<StoredPoll> {
    const sources = source === undefined ? this.#sql.sources.all() : [source];
    const shrunkAfter = new Map(sources.map((one) => [one, this.#lastBeforeShrinking(one)]));
    const shown = ({ at: _, no: __, ...poll }: Row): StoredPoll => {
      const isComplete = poll.status === 'success' || poll.status === 'unchanged';
      const after = shrunkAfter.get(poll.source) ?? Number.POSITIVE_INFINITY;
      return { ...poll, is_shrunk: hasShrunk(poll) || (isComplete && poll.poll_id > after) };
    };
    const statuses = (result ? statusesOf(result) : POLL_STATUSES).filter(
      (one) => status === undefined || one === status,
    );
    const lists = sources.flatMap((one) =>
      statuses.map((state) =>
        this.#db.prepare<[string, string, number], Row>(POLLS[order]).iterate(one, state, no),
      ),
    );
    const fits = (row: Row) => result === undefined || pollResult(shown(row)) === result;
    const { rows, next } = mergedRows(lists, fits, { limit, order });
    return { rows: rows.map(shown), next };
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
