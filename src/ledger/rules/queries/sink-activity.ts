import type { Outcome } from '../../../leads/outcome.ts';
import type { Speed } from '../../contract/page-rows.ts';
import type {
  ActivityRequest,
  AgeGroup,
  AttemptTotals,
  Hold,
  HoldKind,
  ReasonGroup,
  SinkActivity,
  SinkAttempt,
} from '../../contract/sink-activity.ts';
import { type AttemptSums, addSums, durationAt, noAttempts, SLOT_MS } from '../delivering/attempt-sums.ts';
import { dateOf } from './delivery-rows.ts';

/** Maximum number of attempts returned, and of failed attempts. */
export const MAX_RECENT = 50;
/**
 * Maximum number of rows of `_attempts` that are read to find these attempts, and of failed rows to find the failed ones. Rows between two
 * attempts of a sink may belong to other sinks.
 */
export const MAX_READ = 20_000;
/** Maximum number of deliveries in each state that are read to count reasons: the newest dead ones, and the pending ones that are retried first. */
export const MAX_JUDGED = 5_000;
/** Maximum number of reasons returned for each state. */
export const MAX_REASONS = 20;
/** Maximum number of pending deliveries that are counted in each age group. */
export const MAX_PENDING = 50_000;
/** Maximum number of holds and pauses returned. */
export const MAX_HOLDS = 50;
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
/** Minimum age in each age group of pending deliveries, in ms. */
const AGES = [0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY] as const;

/** The sums of the attempts of a sink in some minutes, as JSON. */
export interface Slot {
  readonly from_at: number;
  readonly sums: string;
}

/** A reason among the deliveries that were read. */
export interface ReasonRow {
  readonly reason: string | null;
  readonly deliveries: number;
  /** The number of deliveries that were read. */
  readonly all: number;
}

/** A hold or pause as stored. */
export interface HoldRow {
  readonly kind: HoldKind;
  readonly began_at: number;
  readonly ended_at: number | null;
  readonly times: number;
  readonly reason: string | null;
}

/** A row of `_attempts` with its delivery. */
export interface AttemptRow {
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

/** What an engine reads for the activity of a sink. */
interface ActivityRows {
  readonly slots: readonly Slot[];
  readonly firstSlot: number | null | undefined;
  readonly speed: Speed;
  readonly holds: readonly HoldRow[];
  /** The number of pending deliveries in each of `ageRanges`, and in all. */
  readonly ages: readonly number[];
  readonly pending: number;
  readonly dead: readonly ReasonRow[];
  readonly failed: readonly ReasonRow[];
  readonly recent: readonly AttemptRow[];
  readonly recentFailed: readonly AttemptRow[];
}

/** Returns the period of a request, in ms since 1970: whole slots up to the one that contains `now`. */
export function slotsOf({ now, periodMs }: Omit<ActivityRequest, 'stepMs'>): {
  readonly since: number;
  readonly end: number;
} {
  const end = (Math.floor(now.getTime() / SLOT_MS) + 1) * SLOT_MS;
  return { since: end - periodMs, end };
}

/** Returns the bounds of each age group, in ms since 1970. A group has the deliveries that were owed after `after`, and at `until` at the latest. */
export function ageRanges(now: Date): readonly (readonly [after: number, until: number])[] {
  return AGES.map((fromMs, index) => {
    const toMs = AGES[index + 1];
    const after = toMs === undefined ? 0 : now.getTime() - toMs;
    return [after, fromMs === 0 ? Number.MAX_SAFE_INTEGER : now.getTime() - fromMs];
  });
}

/** Returns the totals of attempts over all slots. */
export function totalsOfSlots(slots: readonly Slot[]): AttemptTotals {
  return totalsOf(sumOf(slots.map(({ sums }) => JSON.parse(sums) as AttemptSums)));
}

/** Returns the activity of a sink, computed from the rows that were read for the request. */
export function activityOf(request: ActivityRequest, rows: ActivityRows): SinkActivity {
  const { since, end } = slotsOf(request);
  const parts = partsOf(rows.slots, { since, end, stepMs: request.stepMs });
  const all = sumOf(parts.map(({ sums }) => sums));
  const { dead, failed } = rows;
  return {
    since: new Date(since),
    countedFrom: dateOf(rows.firstSlot),
    total: totalsOf(all),
    speed: rows.speed,
    outcomes: outcomesOf(all),
    errors: errorsOf(all),
    series: parts.map(({ from, sums }) => ({ from, ...totalsOf(sums) })),
    holds: rows.holds.map(toHold),
    backlog: backlogOf(rows.ages, rows.pending),
    reasons: [...groupsOf('dead', dead), ...groupsOf('pending', failed)].sort(byDeliveries),
    hasMoreReasons: [dead, failed].some((read) => read.some((row) => row.all === MAX_JUDGED)),
    recent: rows.recent.map(toAttempt),
    recentFailed: rows.recentFailed.map(toAttempt),
  };
}

/** If exactly one group is too large to be counted, its size is what the others leave of all that is pending. */
function backlogOf(counted: readonly number[], pending: number): AgeGroup[] {
  const groups = AGES.map((fromMs, index) => {
    const deliveries = counted[index] ?? 0;
    return { fromMs, toMs: AGES[index + 1], deliveries, isAtLeast: deliveries === MAX_PENDING };
  });
  const large = groups.filter(({ isAtLeast }) => isAtLeast);
  if (large.length !== 1) return groups;
  const others = groups.reduce((sum, group) => sum + (group.isAtLeast ? 0 : group.deliveries), 0);
  return groups.map((group) =>
    group.isAtLeast ? { ...group, deliveries: pending - others, isAtLeast: false } : group,
  );
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
    sums: sumOf((byPart.get(part) ?? []).map(({ sums }) => JSON.parse(sums) as AttemptSums)),
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

function groupsOf(state: ReasonGroup['state'], rows: readonly ReasonRow[]): ReasonGroup[] {
  return rows.flatMap(({ reason, deliveries }) => (reason === null ? [] : [{ state, reason, deliveries }]));
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
