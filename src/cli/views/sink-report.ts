import {
  countOf,
  printCount,
  printMomentAndAge,
  printShare,
  printSpan,
  printSpanRange,
} from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { addressIn, type SinkDetail } from '../../status/sink-detail.ts';
import type { Paint } from '../shell/colour.ts';
import { table } from '../shell/table.ts';

/** How a report on one sink is printed. */
interface ReportOptions {
  readonly now: Date;
  /** Width of the terminal, in columns; undefined without a terminal. */
  readonly columns: number | undefined;
  readonly paint: Paint;
}

const TONES = { held: 'bad', paused: 'warning', orphaned: 'warning' } as const;

/** Maximum number of attempts in the report; `--json` has more. */
const MAX_RECENT = 10;

/** Returns the report on one sink: its circuit breaker, its attempts in a period, what it is owed, and its last attempts. */
export function sinkReport(sink: SinkDetail, options: ReportOptions): string {
  const parts = [
    stateLines(sink, options),
    attemptLines(sink, options),
    speedLine(sink),
    outcomeTable(sink, options),
    errorTable(sink, options),
    backlogTable(sink, options),
    reasonTable(sink, options),
    holdTable(sink, options),
    recentTable('LAST ATTEMPTS', sink.recent, options),
    recentTable('LAST FAILED', failedBefore(sink), options),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function stateLines(sink: SinkDetail, { now, paint }: ReportOptions): string {
  const { state, breaker, reason, since, next_attempt_at: next } = sink;
  const address = addressIn(sink.options);
  const tone = state in TONES ? TONES[state as keyof typeof TONES] : undefined;
  const when = since && printMomentAndAge(new Date(since), now);
  const word = paint(tone, state);
  const why = reason === null ? '' : `: ${printable(reason)}`;
  const isWorking =
    state === 'healthy' && sink.dead > 0
      ? `has ${paint('bad', countOf(sink.dead, 'dead delivery'))}`
      : `is ${word}`;
  const lines = [
    `${sink.sink}${sink.type === null ? '' : ` (${sink.type})`} ${when ? `has been ${word} since ${when}` : isWorking}${why}`,
    address === null ? undefined : `Delivers to ${printable(address)}.`,
    breaker?.explanation,
    next === null
      ? undefined
      : `Next ${state === 'held' ? 'probe' : 'attempt'}: ${printMomentAndAge(new Date(next), now)}.`,
    breakerLine(sink),
    `Pending ${printCount(sink.pending)}, delivered ${printCount(sink.delivered)}, dead ${printCount(sink.dead)}, skipped ${printCount(sink.skipped)}.`,
  ];
  return lines.flatMap((line) => (line ? [`${line}\n`] : [])).join('');
}

function breakerLine({ breaker }: SinkDetail): string | undefined {
  if (breaker === null) return undefined;
  const { failure_rate: rate, recent_attempts: attempts, concurrency, max_concurrency: most } = breaker;
  const when = breaker.failed_probes === null ? '' : ' before the hold';
  const failing =
    rate === null
      ? 'No batch yet'
      : `Failure rate${when} ${printShare(rate)} of the last ${countOf(attempts, 'batch', 'batches')}`;
  return concurrency === null ? `${failing}.` : `${failing}; concurrent batches ${concurrency} of ${most}.`;
}

function attemptLines(sink: SinkDetail, { now }: ReportOptions): string {
  const { delivered, refused, unavailable, success_rate, duration_p50_ms, duration_p95_ms } = sink.attempts;
  const since = printMomentAndAge(new Date(sink.period_start), now);
  const counted = sink.counted_from;
  const later =
    counted !== null && counted > sink.period_start
      ? ` No attempt before ${printMomentAndAge(new Date(counted), now)} is counted.`
      : '';
  const all = delivered + refused + unavailable;
  if (success_rate === null || duration_p50_ms === null || duration_p95_ms === null)
    return `No attempt since ${since}.${later}\n`;
  return `${countOf(all, 'attempt')} since ${since}: ${printShare(success_rate)} delivered. Batches took ${printSpan(duration_p50_ms)} (p50), ${printSpan(duration_p95_ms)} (p95).${later}\n`;
}

/** Returns a line about the time from when leadsync first saw the new leads of the period until they were delivered. */
function speedLine({ speed_to_lead: speed }: SinkDetail): string {
  const { leads, seen_to_delivered_p50_seconds: p50, seen_to_delivered_p95_seconds: p95 } = speed;
  if (p50 === null || p95 === null) return '';
  return `Speed to lead for ${countOf(leads, 'new lead')}: ${printSpan(p50 * 1000)} (p50), ${printSpan(p95 * 1000)} (p95).\n`;
}

function outcomeTable({ outcomes }: SinkDetail, { columns }: ReportOptions): string {
  if (outcomes.length === 0) return '';
  return table(
    [{ head: 'OUTCOME' }, { head: 'HTTP' }, { head: 'ATTEMPTS', align: 'right' }],
    outcomes.map(({ outcome, http_status, attempts }) => [
      outcome,
      String(http_status ?? '-'),
      printCount(attempts),
    ]),
    columns,
  );
}

function errorTable({ errors }: SinkDetail, { columns }: ReportOptions): string {
  if (errors.length === 0) return '';
  return table(
    [{ head: 'FAILED', align: 'right' }, { head: 'BECAUSE' }],
    errors.map(({ reason, attempts }) => [printCount(attempts), printable(reason ?? 'other reasons')]),
    columns,
  );
}

function backlogTable({ backlog }: SinkDetail, { columns }: ReportOptions): string {
  const groups = backlog.filter(({ deliveries }) => deliveries > 0);
  if (groups.length === 0) return '';
  return table(
    [{ head: 'PENDING', align: 'right' }, { head: 'OWED FOR' }],
    groups.map(({ from_seconds, to_seconds, deliveries, at_least }) => [
      `${at_least ? 'at least ' : ''}${printCount(deliveries)}`,
      printSpanRange(from_seconds * 1000, to_seconds === null ? undefined : to_seconds * 1000),
    ]),
    columns,
  );
}

function reasonTable({ reasons, reasons_complete }: SinkDetail, { columns }: ReportOptions): string {
  if (reasons.length === 0) return '';
  const more = reasons_complete ? '' : 'Counts at most 5,000 deliveries in each state.\n';
  const rows = reasons.map(({ state, reason, deliveries }) => [
    state,
    printCount(deliveries),
    printable(reason),
  ]);
  const heads = [{ head: 'STATE' }, { head: 'DELIVERIES', align: 'right' }, { head: 'REASON' }] as const;
  return `${table(heads, rows, columns)}${more}`;
}

function holdTable({ holds }: SinkDetail, { columns, now }: ReportOptions): string {
  if (holds.length === 0) return '';
  const rows = holds
    .slice(0, MAX_RECENT)
    .map(({ kind, since, until, times, reason }) => [
      printMomentAndAge(new Date(since), now),
      `${kind}${times > 1 ? ` ${printCount(times)} times` : ''}`,
      until === null ? 'still' : printSpan(Date.parse(until) - Date.parse(since)),
      printable(reason ?? '-'),
    ]);
  return table([{ head: 'SINCE' }, { head: 'STATE' }, { head: 'FOR' }, { head: 'REASON' }], rows, columns);
}

type Attempt = SinkDetail['recent'][number];

/** Returns the failed attempts, newest first; none if the table of the last attempts shows the same ones. */
function failedBefore({ recent, recent_failed }: SinkDetail): readonly Attempt[] {
  const keyOf = ({ delivery_id, started_at }: Attempt) => `${delivery_id} ${started_at}`;
  const shown = new Set(recent.slice(0, MAX_RECENT).map(keyOf));
  const failed = recent_failed.slice(0, MAX_RECENT);
  return failed.every((attempt) => shown.has(keyOf(attempt))) ? [] : failed;
}

function recentTable(
  head: string,
  recent: readonly Attempt[],
  { columns, now }: Pick<ReportOptions, 'columns' | 'now'>,
): string {
  if (recent.length === 0) return '';
  const heads = [
    { head },
    { head: 'LEAD' },
    { head: 'OUTCOME' },
    { head: 'HTTP' },
    { head: 'TOOK', align: 'right' },
    { head: 'ERROR', dropOrder: 1 },
  ] as const;
  const rows = recent
    .slice(0, MAX_RECENT)
    .map((attempt) => [
      printMomentAndAge(new Date(attempt.started_at), now),
      `${attempt.source}:${attempt.lead_id}`,
      `${attempt.outcome}${attempt.times > 1 ? ` ${printCount(attempt.times)} times` : ''}`,
      String(attempt.http_status ?? '-'),
      printSpan(attempt.duration_ms),
      printable(attempt.error ?? '-'),
    ]);
  return table(heads, rows, columns);
}
