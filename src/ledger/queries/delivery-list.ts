import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import { isBatchWebhookId } from '../../platform/text/webhook-id.ts';
import {
  type ActionFilter,
  type DeliveryFilter,
  MAX_SEARCHED_FOR_BATCH,
  type SelectedState,
} from '../contract/ledger-queries.ts';
import type { Count, Order, Rows } from '../contract/page-rows.ts';
import type { DeliveryRow } from '../contract/status-rows.ts';
import { idFilters, listedStates, STATE_CONDITIONS } from '../rules/control/selecting.ts';
import { type MadeAttempts, type RawDelivery, toDeliveryRow } from '../rules/queries/delivery-rows.ts';
import {
  type Cursor,
  countOf,
  FROM_NEWEST,
  inEachOrder,
  mergedRows,
  parseCursor,
  rowsAfter,
  startingAt,
} from '../rules/queries/keyset-page.ts';
import { type Period, periodOf } from '../rules/queries/period.ts';
import {
  hasResultCondition,
  type ResultParameters,
  resultParameters,
} from '../rules/queries/result-parameters.ts';
import { type BatchAttempt, sentUnder } from '../rules/queries/webhook-batch.ts';
import { deliveryId } from '../schema/views.ts';
import { filterSql } from './filter-sql.ts';
import { MEETS_RESULT } from './result-filter.ts';

/** For each state, the index of a sink's deliveries in the order in which they were owed. */
const INDEXES: Readonly<Record<SelectedState, string>> = {
  pending: '_deliveries_pending',
  delivered: '_deliveries_delivered',
  dead: '_deliveries_given_up',
  skipped: '_deliveries_skipped',
  discarded: '_deliveries_discarded',
};
/** Maximum number of deliveries that are read for one part of an action. The limit is low because the thread that reads them also runs deliveries. */
const MAX_READ_FOR_ACTION = 3_000;
/** Maximum number of deliveries that are read to count those that meet a condition that no index has. */
const MAX_READ_FOR_COUNT = 50_000;
/** Maximum number of deliveries listed for one lead; the newest are listed. Hardly any lead has more. */
const MAX_OF_ONE_LEAD = 1_000;

type Row = RawDelivery & Cursor & { readonly fits: 0 | 1 };

/**
 * Lists the deliveries that match a filter, in the order in which they were owed. Reads one list for each sink and state in index order, and
 * merges these lists.
 */
export class DeliveryList {
  readonly #db: Database.Database;
  readonly #counts = new Map<string, CountSql>();
  readonly #made: Database.Statement<[number], MadeAttempts>;
  readonly #sent: Database.Statement<[{ sink: string | null }], BatchAttempt>;
  readonly #due: Database.Statement<[string, number, number], number>;

  /** The statements of `#ofOne`, by SQL text: one for each set of conditions. */
  readonly #ofOneSql = new Map<string, OfOneSql>();

  constructor(db: Database.Database) {
    this.#db = db;
    this.#made = db.prepare(MADE);
    this.#sent = db.prepare(SENT);
    this.#due = db.prepare<[string, number, number], number>(DUE).pluck();
  }

  /** Returns deliveries, newest first. `before` is the id of the last delivery of the previous page. */
  newest(
    filter: DeliveryFilter,
    { limit, before }: { limit: number; before?: string | undefined },
  ): DeliveryRow[] {
    let cursor: Cursor | undefined =
      before === undefined ? FROM_NEWEST : this.#ofOne({ delivery: before })[0];
    const found: DeliveryRow[] = [];
    while (cursor && found.length < limit) {
      const { rows, next } = this.page(filter, limit - found.length, cursor);
      found.push(...rows);
      cursor = next === null ? undefined : parseCursor(next);
    }
    return found;
  }

  page(filter: DeliveryFilter, limit: number, after: Cursor, order: Order = 'newest'): Rows<DeliveryRow> {
    const lists = this.#listsOf(filter, after, order);
    const { rows, next } = mergedRows(lists, this.#test(filter), { limit, order });
    return { rows: rows.map((row) => this.#complete(row)), next };
  }

  /** Returns the numbers of the same deliveries as `page`, newest first, but reads fewer rows. If few of these rows match, the result is shorter. */
  numbers(filter: DeliveryFilter, limit: number, after: Cursor): Rows<number> {
    const lists = this.#listsOf(filter, after, 'newest');
    const reading = { limit, order: 'newest', most: MAX_READ_FOR_ACTION } as const;
    const { rows, next } = mergedRows(lists, this.#test(filter), reading);
    return { rows: rows.map(({ no }) => no), next };
  }

  /**
   * Returns the deliveries of a lead with their numbers, newest first. Without `source`, returns the deliveries of every lead with this id.
   */
  ofLead(lead: LeadId, source?: string): { readonly no: number; readonly delivery: DeliveryRow }[] {
    return this.#ofOne({ lead, source }).map((row) => ({ no: row.no, delivery: this.#complete(row) }));
  }

  /** Returns the row with the totals of its attempts. Attempts are read only for the rows of a page, not for rows that the filter drops. */
  #complete(row: Row): DeliveryRow {
    return toDeliveryRow(row, this.#made.get(row.no) as MadeAttempts);
  }

  /**
   * Returns the number of matching deliveries, but counts at most `most`. If no index has the filter's condition, reads only the newest
   * deliveries of each sink and state.
   */
  count({ ids, ...filter }: ActionFilter, most: number): Count {
    if (ids) {
      const found = idFilters({ ...filter, ids }).flatMap((one) => this.#ofOne(one));
      return countOf(new Set(found.map(({ no }) => no)).size, most);
    }
    if (namesOne(filter)) return countOf(this.#ofOne(filter).length, most);
    const source = this.#onlySource(filter);
    const isIndexed = source === null && !hasResultCondition(filter);
    const lists = this.#sinksOf(filter).flatMap((sinkNo) =>
      listedStates(filter).map((state) => ({ sinkNo, state })),
    );
    const toRead = isIndexed ? most : Math.ceil(MAX_READ_FOR_COUNT / Math.max(1, lists.length));
    const parameters = {
      ...periodOf(filter),
      ...resultParameters({ ...filter, states: undefined }),
      source,
      toRead,
    };
    const counts = lists.map(({ sinkNo, state }) =>
      this.#countSql(state, isIndexed).get({ sinkNo, ...parameters }),
    );
    const fitting = counts.reduce((sum, one) => sum + (one?.fitting ?? 0), 0);
    return countOf(
      fitting,
      most,
      counts.some((one) => one?.read === toRead),
    );
  }

  #countSql(state: SelectedState, isIndexed: boolean): CountSql {
    const sql = countSql(state, isIndexed ? '1' : MEETS_CONDITIONS);
    const statement: CountSql = this.#counts.get(sql) ?? this.#db.prepare(sql);
    this.#counts.set(sql, statement);
    return statement;
  }

  /** Returns the number of a sink's deliveries that are due and in no batch, but counts at most `most`. */
  countDue(sink: string, now: Date, most: number): number {
    return this.#due.get(sink, now.getTime(), most) ?? 0;
  }

  #listsOf(filter: DeliveryFilter, after: Cursor, order: Order): Iterator<Row>[] {
    if (namesOne(filter)) return [rowsAfter(this.#ofOne(filter), after, order).values()];
    const begin = startingAt(after, filter, order);
    const select = hasResultCondition(filter) ? MEETS_RESULT : '1';
    const result = resultParameters({ ...filter, states: undefined });
    return this.#sinksOf(filter).flatMap((sinkNo) =>
      // Prepares a statement for each list, because the same statement cannot be iterated twice at the same time.
      listedStates(filter).map((state) =>
        this.#db
          .prepare<[Range & ResultParameters], Row>(listSql(state, select)[order])
          .iterate({ sinkNo, ...begin, ...result }),
      ),
    );
  }

  /** Returns the deliveries of one lead, the delivery with a given id, or those of a batch. Finds these few rows by lead. */
  #ofOne(filter: DeliveryFilter): Row[] {
    const { webhookId, sink } = filter;
    if (webhookId !== undefined && isBatchWebhookId(webhookId)) {
      const ids = sentUnder(webhookId, this.#sent.all({ sink: sink ?? null }));
      return ids.flatMap((id) => this.#ofOne({ ...filter, webhookId: id }));
    }
    const { where, values } = filterSql(filter);
    const sources = filter.lead !== undefined && filter.source === undefined;
    return this.#prepareOnce(
      `SELECT ${COLUMNS}, 1 AS fits FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no CROSS JOIN _sinks s ON s.sink_no = d.sink_no
         WHERE ${where} AND ${MEETS_RESULT} ${sources ? 'AND v.source IN (SELECT source FROM _sources)' : ''}
         ORDER BY d.owed_at DESC, d.delivery_no DESC LIMIT ${MAX_OF_ONE_LEAD}`,
    ).all(...values, resultParameters(filter));
  }

  /** Returns the prepared statement. Keeps it for later calls, because a list may have thousands of ids. */
  #prepareOnce(sql: string): OfOneSql {
    const statement = this.#ofOneSql.get(sql) ?? this.#db.prepare(sql);
    this.#ofOneSql.set(sql, statement as OfOneSql);
    return statement as OfOneSql;
  }

  #sinksOf({ sink }: DeliveryFilter): number[] {
    const all = 'SELECT sink_no FROM _sinks';
    if (sink === undefined) return this.#db.prepare<[], number>(all).pluck().all();
    return this.#db.prepare<[string], number>(`${all} WHERE sink = ?`).pluck().all(sink);
  }

  #test(filter: DeliveryFilter): (row: Row) => boolean {
    const source = this.#onlySource(filter);
    return ({ fits, source: of }) => fits === 1 && (source === null || of === source);
  }

  /** Returns the source to filter by; null if no filter is necessary because there is no other source. */
  #onlySource({ source }: DeliveryFilter): string | null {
    if (source === undefined) return null;
    const others = this.#db.prepare('SELECT 1 FROM _sources WHERE source <> ? LIMIT 1').get(source);
    const known = this.#db.prepare('SELECT 1 FROM _sources WHERE source = ?').get(source);
    return known && !others ? null : source;
  }
}

type OfOneSql = Database.Statement<(string | number | bigint | ResultParameters)[], Row>;
type Range = Cursor & Period & { sinkNo: number };
type CountRange = Period & ResultParameters & { sinkNo: number; source: string | null; toRead: number };
type CountSql = Database.Statement<[CountRange], { read: number; fitting: number }>;

const COLUMNS = `d.*, d.owed_at AS at, d.delivery_no AS no, ${deliveryId} AS delivery, v.source, CAST(v.id AS TEXT) AS id, v.version, s.sink`;

// With a single `max`, SQLite takes the other columns from its row: those of the last attempt.
const MADE = `SELECT coalesce(sum(times), 0) AS made, coalesce(sum(answer <> '') > 0, 0) AS answered, http_status AS last_status,
  duration_ms AS last_ms, max(attempt_no) FROM _attempts WHERE delivery_no = ?`;

const SENT = `SELECT sent.batch_no AS batch, sent.started_at AS startedAt, d.delivery_no AS no, ${deliveryId} AS delivery
  FROM (SELECT attempt_no, delivery_no, batch_no, started_at FROM _attempts ORDER BY attempt_no DESC LIMIT ${MAX_SEARCHED_FOR_BATCH}) sent
  CROSS JOIN _deliveries d ON d.delivery_no = sent.delivery_no CROSS JOIN _versions v ON v.version_no = d.version_no
  CROSS JOIN _sinks s ON s.sink_no = d.sink_no WHERE :sink IS NULL OR s.sink = :sink`;

const DUE = `SELECT count(*) FROM (SELECT 1 FROM _deliveries WHERE sink_no = (SELECT sink_no FROM _sinks WHERE sink = ?)
  AND state = 'pending' AND batch_no IS NULL AND next_attempt_at <= ? LIMIT ?)`;

/** `fits` is the filter's condition. It is a column and not part of WHERE, so that the caller can limit how many rows it reads. */
function listSql(state: SelectedState, fits: string): Readonly<Record<Order, string>> {
  return inEachOrder(
    ({
      follows,
      sorted,
    }) => `SELECT ${COLUMNS}, (${fits}) AS fits FROM _deliveries d INDEXED BY ${INDEXES[state]}
    CROSS JOIN _versions v ON v.version_no = d.version_no CROSS JOIN _sinks s ON s.sink_no = d.sink_no
    WHERE d.sink_no = :sinkNo AND ${STATE_CONDITIONS[state]} AND (d.owed_at, d.delivery_no) ${follows} (:at, :no)
    AND d.owed_at >= :since AND d.owed_at < :until ORDER BY d.owed_at ${sorted}, d.delivery_no ${sorted}`,
  );
}

const MEETS_CONDITIONS = `${MEETS_RESULT}
    AND (:source IS NULL OR :source = (SELECT v.source FROM _versions v WHERE v.version_no = d.version_no))`;

/** Counts the newest deliveries of a list, and those among them that fit. */
function countSql(state: SelectedState, fits: string): string {
  return `SELECT count(*) AS read, coalesce(sum(fits), 0) AS fitting FROM (SELECT (${fits}) AS fits FROM _deliveries d INDEXED BY ${INDEXES[state]}
    WHERE d.sink_no = :sinkNo AND ${STATE_CONDITIONS[state]} AND d.owed_at >= :since AND d.owed_at < :until ORDER BY d.owed_at DESC LIMIT :toRead)`;
}

function namesOne({ lead, delivery, webhookId }: DeliveryFilter): boolean {
  return (lead ?? delivery ?? webhookId) !== undefined;
}
