import type { ConfigValue } from '../config/contract/config.ts';
import type {
  ActivityRequest,
  AttemptTotals,
  FailureReasons,
  SinkActivity,
  SinkAttempt,
  SinkTotals,
} from '../ledger/contract/sink-activity.ts';
import { iso } from './json-values.ts';
import { sinkOverview, speedJson } from './status-json.ts';
import type { SinkView } from './status-view.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

/** The periods for which the activity of a sink can be shown, and the parts into which each is divided. */
const PERIODS = {
  '1h': { periodMs: HOUR, stepMs: 10 * MINUTE },
  '24h': { periodMs: DAY, stepMs: HOUR },
  '7d': { periodMs: 7 * DAY, stepMs: 6 * HOUR },
} as const;

/** A period for which the activity of a sink can be shown. */
export type Period = keyof typeof PERIODS;

/** The names of the periods, shortest first. */
export const periods = Object.keys(PERIODS) as readonly Period[];

/** Returns the request to the ledger for a period that ends now. */
export function activityRequest(period: Period, now: Date): ActivityRequest {
  return { now, ...PERIODS[period] };
}

/** What `sinkDetail` describes, apart from the sink. */
interface DetailParts {
  readonly period: Period;
  readonly now: Date;
  /** Undefined if the ledger does not know the sink yet. */
  readonly activity: SinkActivity | undefined;
  /** All configuration values in effect, not only those of this sink. */
  readonly values: readonly ConfigValue[];
}

/** Returns everything about one sink as JSON, for the API, the sink's page and `leadsync status SINK --json`. */
export function sinkDetail(view: SinkView, { period, now, activity, values }: DetailParts) {
  const { total, ...parts } = activity ?? nothing(view.name, period, now);
  return {
    ...sinkOverview(view, now),
    at: now.toISOString(),
    period,
    period_start: parts.since.toISOString(),
    counted_from: iso(parts.countedFrom),
    options: optionsOf(view.name, values),
    attempts: totalsJson(total),
    speed_to_lead: speedJson(parts.speed),
    outcomes: parts.outcomes.map(({ outcome, httpStatus, attempts }) => ({
      outcome,
      http_status: httpStatus ?? null,
      attempts,
    })),
    errors: parts.errors.map(({ reason, attempts }) => ({ reason: reason ?? null, attempts })),
    step_seconds: PERIODS[period].stepMs / 1000,
    series: parts.series.map(({ from, ...totals }) => ({ from: from.toISOString(), ...totalsJson(totals) })),
    holds: parts.holds.map(({ kind, since, until, times, reason }) => ({
      kind,
      since: since.toISOString(),
      until: iso(until),
      times,
      reason: reason ?? null,
    })),
    backlog: parts.backlog.map(({ fromMs, toMs, deliveries, isAtLeast }) => ({
      from_seconds: fromMs / 1000,
      to_seconds: toMs === undefined ? null : toMs / 1000,
      deliveries,
      at_least: isAtLeast,
    })),
    reasons: parts.reasons.map((group) => ({ ...group })),
    reasons_complete: !parts.hasMoreReasons,
    recent: parts.recent.map(attemptJson),
    recent_failed: parts.recentFailed.map(attemptJson),
  };
}

/** The description of one sink. */
export type SinkDetail = ReturnType<typeof sinkDetail>;

function attemptJson(attempt: SinkAttempt) {
  return {
    delivery_id: attempt.delivery,
    source: attempt.source,
    lead_id: attempt.lead,
    started_at: attempt.startedAt.toISOString(),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    http_status: attempt.httpStatus ?? null,
    error: attempt.error ?? null,
    times: attempt.times,
    last_started_at: iso(attempt.lastAt),
    has_answer: attempt.hasAnswer,
  };
}

/** What `sinkRow` describes, apart from the sink. */
interface RowParts {
  readonly now: Date;
  /** The attempts in the last hour; undefined if the ledger does not know the sink yet. */
  readonly total: AttemptTotals | undefined;
  /** All configuration values in effect, not only those of this sink. */
  readonly values: readonly ConfigValue[];
}

/** Returns a sink for the list of sinks: its state, its attempts in the last hour, and its address. */
export function sinkRow(view: SinkView, { now, total = NONE, values }: RowParts) {
  return {
    ...sinkOverview(view, now),
    address: addressIn(optionsOf(view.name, values)),
    attempts_last_hour: totalsJson(total),
  };
}

/** Returns the attempts of a sink for the overview. */
export function attemptsJson(sink: string, totals: SinkTotals | undefined) {
  const { duration_p50_ms: _, duration_p95_ms: __, ...counts } = totalsJson(totals?.total ?? NONE);
  return { sink, ...counts };
}

/** Options that name the destination of a sink, the most telling first. */
const ADDRESSES = ['url', 'directory', 'domain', 'brokers', 'server', 'to', 'command', 'api_url'];

/** The value of an option that is a secret as a whole. */
const MASKED = '[secret]';

/** Returns the option that says where a sink delivers, with secrets masked; null if none of its options that are set does. */
export function addressIn(
  set: readonly { readonly option: string; readonly value: string }[],
): string | null {
  const options = new Map(set.map(({ option, value }) => [option, value]));
  return (
    ADDRESSES.map((name) => options.get(name)).find((value) => value !== undefined && value !== MASKED) ??
    null
  );
}

const NONE: AttemptTotals = { delivered: 0, refused: 0, unavailable: 0, duration: undefined };

function totalsJson({ delivered, refused, unavailable, duration }: AttemptTotals) {
  const all = delivered + refused + unavailable;
  return {
    delivered,
    refused,
    unavailable,
    success_rate: all === 0 ? null : delivered / all,
    duration_p50_ms: duration?.p50 ?? null,
    duration_p95_ms: duration?.p95 ?? null,
  };
}

/** Returns the options of a sink that are set, without the common beginning of their paths. Secrets are masked. */
function optionsOf(sink: string, values: readonly ConfigValue[]) {
  const beginning = `sinks.${sink}.`;
  return values
    .filter(({ path, origin }) => path.startsWith(beginning) && origin !== 'default')
    .map(({ path, value, origin }) => ({ option: path.slice(beginning.length), value, origin }));
}

function nothing(sink: string, period: Period, now: Date): SinkActivity {
  return {
    since: new Date(now.getTime() - PERIODS[period].periodMs),
    countedFrom: undefined,
    total: NONE,
    speed: { sink, leads: 0, seenToDelivered: undefined, createdToDelivered: undefined },
    outcomes: [],
    errors: [],
    series: [],
    holds: [],
    backlog: [],
    reasons: [],
    hasMoreReasons: false,
    recent: [],
    recentFailed: [],
  };
}

/** Returns the reasons of dead and failed deliveries as the API and `leadsync deliveries --reasons --json` show them. */
export function failureReasonsJson({ reasons, others, isComplete }: FailureReasons) {
  return {
    rows: reasons.map(({ sinks, ...group }) => ({ ...group, sinks: [...sinks] })),
    others,
    complete: isComplete,
  };
}
