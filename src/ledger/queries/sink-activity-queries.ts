import type Database from 'better-sqlite3';
import type { Outcome } from '../../leads/outcome.ts';
import type {
  ActivityRequest,
  AgeGroup,
  AttemptTotals,
  Hold,
  HoldKind,
  ReasonGroup,
  SinkActivity,
  SinkAttempt,
} from '../contract/sink-activity.ts';
import { type AttemptSums, addSums, durationAt, noAttempts, SLOT_MS } from '../database/attempt-sums.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { dateOf } from '../rules/delivery-rows.ts';
import { deliveryId } from '../schema/views.ts';
import { Measures } from './lead-statistics.ts';

/** Maximum number of attempts returned. */
const MAX_RECENT = 50;
/** Maximum number of rows of `_attempts` that are read to find these attempts. Rows between two attempts of a sink may belong to other sinks. */
const MAX_READ = 20_000;
/** Maximum number of deliveries in each state that are read to count reasons: the newest dead ones, and the pending ones that are retried first. */
const MAX_JUDGED = 5_000;
const MAX_REASONS = 20;
/** Maximum number of pending deliveries that are counted in each age group. */
const MAX_PENDING = 50_000;
const MAX_HOLDS = 50;
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
/** Minimum age in each age group of pending deliveries, in ms. */
const AGES = [0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY] as const;

interface Slot {
  readonly from_at: number;
  readonly sums: AttemptSums;
}

/** Reads what one sink did. Each query reads a limited number of rows, or counts the entries of an index. */
export class SinkActivityQueries {
  readonly #rows: SinkRows;
  readonly #measures: Measures;
  readonly #sql;

  constructor(db: Database.Database, rows: SinkRows) {
    this.#rows = rows;
    this.#measures = new Measures(db);
    this.#sql = prepare(db);
  }

  /** Returns the activity of a sink; undefined if the ledger does not know the sink. */
  of(sink: string, { now, periodMs, stepMs }: ActivityRequest): SinkActivity | undefined {
    const row = this.#rows.get(sink);
    if (!row) return undefined;
    const { sinkNo } = row;
    const end = (Math.floor(now.getTime() / SLOT_MS) + 1) * SLOT_MS;
    const since = end - periodMs;
    const slots = this.#sql.slots
      .all(sinkNo, since, end)
      .map(({ from_at, sums }): Slot => ({ from_at, sums: JSON.parse(sums) }));
    const parts = partsOf(slots, { since, end, stepMs });
    const all = sumOf(parts.map(({ sums }) => sums));
    const dead = this.#sql.dead.all(sinkNo, MAX_JUDGED, MAX_REASONS);
    const failed = this.#sql.failed.all(sinkNo, MAX_JUDGED, MAX_REASONS);
    return {
      since: new Date(since),
      countedFrom: dateOf(this.#sql.firstSlot.get(sinkNo)),
      total: totalsOf(all),
      speed: this.#measures.speedOf(sink, new Date(since)),
      outcomes: outcomesOf(all),
      errors: errorsOf(all),
      series: parts.map(({ from, sums }) => ({ from, ...totalsOf(sums) })),
      holds: this.#sql.holds.all(sinkNo, MAX_HOLDS).map(toHold),
      backlog: this.#backlog(sinkNo, row.counts.pending, now.getTime()),
      reasons: [...groupsOf('dead', dead), ...groupsOf('pending', failed)].sort(byDeliveries),
      hasMoreReasons: [dead, failed].some((rows) => rows.some(({ all }) => all === MAX_JUDGED)),
      recent: this.#recent(sinkNo),
    };
  }

  /**
   * Counts the pending deliveries by age. If exactly one group is too large to be counted, computes its size from the total and the sizes of
   * the others.
   */
  #backlog(sinkNo: number, pending: number, now: number): AgeGroup[] {
    const groups = AGES.map((fromMs, index) => {
      const toMs = AGES[index + 1];
      const after = toMs === undefined ? 0 : now - toMs;
      const until = fromMs === 0 ? Number.MAX_SAFE_INTEGER : now - fromMs;
      const deliveries = this.#sql.pending.get(sinkNo, after, until, MAX_PENDING) ?? 0;
      return { fromMs, toMs, deliveries, isAtLeast: deliveries === MAX_PENDING };
    });
    const large = groups.filter(({ isAtLeast }) => isAtLeast);
    if (large.length !== 1) return groups;
    const others = groups.reduce((sum, group) => sum + (group.isAtLeast ? 0 : group.deliveries), 0);
    return groups.map((group) =>
      group.isAtLeast ? { ...group, deliveries: pending - others, isAtLeast: false } : group,
    );
  }

  /** Returns the last attempts. The sums of each period contain the range of `_attempts` that includes the sink's attempts in that period. */
  #recent(sinkNo: number): SinkAttempt[] {
    const found: SinkAttempt[] = [];
    let left = MAX_READ;
    for (const { first, last } of this.#sql.ranges.iterate(sinkNo)) {
      if (found.length >= MAX_RECENT || left <= 0) break;
      const from = Math.max(first, last - left + 1);
      left -= last - from + 1;
      found.push(...this.#sql.attempts.all(from, last, sinkNo, MAX_RECENT - found.length).map(toAttempt));
    }
    return found;
  }
}

function sumOf(all: readonly AttemptSums[]): AttemptSums {
  const total = noAttempts();
  for (const sums of all) addSums(total, sums);
  return total;
}

/** Returns the parts of a period, oldest first, with the sums of each. */
function partsOf(
  slots: readonly Slot[],
  { since, end, stepMs }: { readonly since: number; readonly end: number; readonly stepMs: number },
): { from: Date; sums: AttemptSums }[] {
  const byPart = Map.groupBy(slots, ({ from_at }) => Math.floor((from_at - since) / stepMs));
  return Array.from({ length: Math.ceil((end - since) / stepMs) }, (_, part) => ({
    from: new Date(since + part * stepMs),
    sums: sumOf((byPart.get(part) ?? []).map(({ sums }) => sums)),
  }));
}

function totalsOf(sums: AttemptSums): AttemptTotals {
  const of = (kind: Outcome['kind']) =>
    outcomesOf(sums).reduce((sum, { outcome, attempts }) => sum + (outcome === kind ? attempts : 0), 0);
  const [p50, p95] = [durationAt(sums, 0.5), durationAt(sums, 0.95)];
  return {
    delivered: of('delivered'),
    refused: of('refused'),
    unavailable: of('unavailable'),
    duration: p50 === undefined || p95 === undefined ? undefined : { p50, p95 },
  };
}

function outcomesOf({ outcomes }: AttemptSums): SinkActivity['outcomes'] {
  return Object.entries(outcomes)
    .map(([key, attempts]) => {
      const [outcome, status] = key.split(' ') as [Outcome['kind'], string?];
      return { outcome, httpStatus: status === undefined ? undefined : Number(status), attempts };
    })
    .sort(byAttempts);
}

function errorsOf({ reasons }: AttemptSums): SinkActivity['errors'] {
  return Object.entries(reasons)
    .map(([reason, attempts]) => ({ reason: reason === '' ? undefined : reason, attempts }))
    .sort(byAttempts);
}

function byAttempts(one: { readonly attempts: number }, other: { readonly attempts: number }): number {
  return other.attempts - one.attempts;
}

function byDeliveries(one: ReasonGroup, other: ReasonGroup): number {
  return other.deliveries - one.deliveries;
}

interface ReasonRow {
  readonly reason: string | null;
  readonly deliveries: number;
  /** The number of deliveries that were read. */
  readonly all: number;
}

function groupsOf(state: ReasonGroup['state'], rows: readonly ReasonRow[]): ReasonGroup[] {
  return rows.flatMap(({ reason, deliveries }) => (reason === null ? [] : [{ state, reason, deliveries }]));
}

interface HoldRow {
  readonly kind: HoldKind;
  readonly began_at: number;
  readonly ended_at: number | null;
  readonly times: number;
  readonly reason: string | null;
}

function toHold({ kind, began_at, ended_at, times, reason }: HoldRow): Hold {
  return {
    kind,
    since: new Date(began_at),
    until: dateOf(ended_at),
    times,
    reason: reason ?? undefined,
  };
}

interface AttemptRow {
  readonly delivery: string;
  readonly source: string;
  readonly lead: string;
  readonly started_at: number;
  readonly duration_ms: number;
  readonly outcome: Outcome['kind'];
  readonly http_status: number | null;
  readonly error: string | null;
  readonly answered: 0 | 1;
  readonly times: number;
  readonly last_at: number | null;
}

function toAttempt(row: AttemptRow): SinkAttempt {
  const { delivery, source, lead, outcome, times } = row;
  return {
    delivery,
    source,
    lead,
    startedAt: new Date(row.started_at),
    durationMs: row.duration_ms,
    outcome,
    httpStatus: row.http_status ?? undefined,
    error: row.error ?? undefined,
    hasAnswer: row.answered === 1,
    times,
    lastAt: dateOf(row.last_at),
  };
}

function prepare(db: Database.Database) {
  const reasons = (index: string, condition: string, order: string) =>
    db.prepare<[number, number, number], ReasonRow>(
      `SELECT reason, count(*) AS deliveries, sum(count(*)) OVER () AS "all" FROM (SELECT reason FROM _deliveries INDEXED BY ${index}
       WHERE sink_no = ? AND ${condition} ORDER BY ${order} LIMIT ?) GROUP BY reason ORDER BY deliveries DESC LIMIT ?`,
    );
  return {
    slots: db.prepare<[number, number, number], { from_at: number; sums: string }>(
      'SELECT from_at, sums FROM _sink_activity WHERE sink_no = ? AND from_at >= ? AND from_at < ? ORDER BY from_at',
    ),
    firstSlot: db
      .prepare<[number], number | null>('SELECT min(from_at) FROM _sink_activity WHERE sink_no = ?')
      .pluck(),
    ranges: db.prepare<[number], { first: number; last: number }>(
      `SELECT sums ->> '$.first' AS first, sums ->> '$.last' AS last FROM _sink_activity
       WHERE sink_no = ? AND sums ->> '$.last' IS NOT NULL ORDER BY from_at DESC`,
    ),
    attempts: db.prepare<[number, number, number, number], AttemptRow>(
      `SELECT ${deliveryId} AS delivery, v.source, CAST(v.id AS TEXT) AS lead, a.started_at, a.duration_ms, a.outcome, a.http_status, a.error,
       coalesce(a.answer <> '', 0) AS answered, a.times, a.last_at
       FROM _attempts a CROSS JOIN _deliveries d ON d.delivery_no = a.delivery_no
       CROSS JOIN _versions v ON v.version_no = d.version_no CROSS JOIN _sinks s ON s.sink_no = d.sink_no
       WHERE a.attempt_no BETWEEN ? AND ? AND d.sink_no = ? ORDER BY a.attempt_no DESC LIMIT ?`,
    ),
    holds: db.prepare<[number, number], HoldRow>(
      'SELECT kind, began_at, ended_at, times, reason FROM _sink_holds WHERE sink_no = ? ORDER BY hold_no DESC LIMIT ?',
    ),
    pending: db
      .prepare<[number, number, number, number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM _deliveries INDEXED BY _deliveries_pending
         WHERE sink_no = ? AND state = 'pending' AND owed_at > ? AND owed_at <= ? LIMIT ?)`,
      )
      .pluck(),
    dead: reasons('_deliveries_given_up', "state = 'dead'", 'owed_at DESC'),
    failed: reasons('_deliveries_retrying', "state = 'pending' AND reason IS NOT NULL", 'next_attempt_at'),
  };
}
