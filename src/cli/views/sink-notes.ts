import {
  countOf,
  isDueNow,
  printAge,
  printCount,
  printLength,
  printMomentAndAge,
} from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { breakerJson } from '../../status/breaker-json.ts';
import { nextAttemptAt } from '../../status/next-attempt.ts';
import type { ProblemContext } from '../../status/problems/problem.ts';
import type { SinkView } from '../../status/status-view.ts';

type NoteContext = Pick<ProblemContext, 'now' | 'running' | 'command'>;

/**
 * Returns notes about a sink: its next attempt, a circuit breaker that is open or may open, a `where` that lets nothing through, a backlog
 * that `rate` slows down, a replay in progress, and the daily limit of its destination.
 */
export function sinkNotes(sink: SinkView, context: NoteContext): string[] {
  return [
    ...nextAttemptLines(sink, context),
    ...breakerLines(sink),
    ...leftOutLines(sink, context),
    ...rateLines(sink, context),
    ...replayLines(sink, context),
    ...quotaLines(sink, context),
  ];
}

/** Returns a note about the next probe or the first retry, which only a running leadsync makes. */
function nextAttemptLines(sink: SinkView, { now, running }: NoteContext): string[] {
  const at = nextAttemptAt(sink);
  if (!running || at === undefined) return [];
  const when = isDueNow(at, now) ? 'due now' : printMomentAndAge(at, now);
  return [`${printable(sink.name)}: next ${sink.state === 'held' ? 'probe' : 'attempt'} ${when}.`];
}

/** Minimum share of failed attempts for a note. A sink that is held or recovers from a hold gets one in any case. */
const NOTED_RATE = 0.1;

/** Returns a note about the circuit breaker of a sink whose destination fails. */
function breakerLines(sink: SinkView): string[] {
  const breaker = breakerJson(sink);
  if (!breaker?.explanation) return [];
  const { failed_probes, concurrency, max_concurrency, failure_rate } = breaker;
  const isLimited = concurrency !== null && max_concurrency !== null && concurrency < max_concurrency;
  if (failed_probes === null && !isLimited && (failure_rate ?? 0) < NOTED_RATE) return [];
  return [`${printable(sink.name)}: ${breaker.explanation}`];
}

/** A note appears if `rate` makes a backlog take at least this long, in ms. */
const SLOW_MS = 60_000;
const PERIODS: ReadonlyMap<number, string> = new Map([
  [1_000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
]);

/** Returns a note about a backlog that waits because of `rate`. The time is a lower bound: batches may also be smaller or fail. */
function rateLines({ name, state, config, status }: SinkView, { now }: NoteContext): string[] {
  const { rate, batch } = config ?? {};
  const isWorking = state === 'healthy' || state === 'retrying';
  if (!rate || !batch || !isWorking || !status?.dueSince || status.dueSince > now) return [];
  const leastMs = (Math.ceil(status.pending / batch.max) / rate.batches) * rate.perMs;
  if (leastMs < SLOW_MS) return [];
  const per = `${countOf(rate.batches, 'batch', 'batches')} a ${PERIODS.get(rate.perMs) ?? 'period'}`;
  return [
    `${printable(name)}: \`rate\` lets ${per} begin, so ${countOf(status.pending, 'pending lead')} ${status.pending === 1 ? 'takes' : 'take'} at least ${printLength(leastMs)}.`,
  ];
}

/** A note appears if `where` has left out every lead for at least this long, in ms. */
const ALL_LEFT_OUT_MS = 86_400_000;

/** Returns a note about a sink whose `where` lets nothing through: either no client asks for its services, or `where` is wrong. */
function leftOutLines({ name, config, status }: SinkView, { now, command }: NoteContext): string[] {
  if (config?.mapping?.where === undefined || !status?.leftOut || status.pending > 0) return [];
  const { leftOut, health } = status;
  const since = health.lastDeliveredAt;
  if (since && now.getTime() - since.getTime() < ALL_LEFT_OUT_MS) return [];
  const when = since ? `since the last delivery, ${printAge(since, now)}` : 'so far';
  return [
    `${printable(name)}: \`where\` has left out all leads ${when}: ${printCount(leftOut)}.`,
    `  If this is not intended, ${command(`test ${name} --last 50`)} shows what \`where\` does to the last leads.`,
  ];
}

/** Returns a note about the pending deliveries of replays. */
function replayLines({ name, status }: SinkView, { command }: NoteContext): string[] {
  if (!status?.replays) return [];
  return [
    `${printable(name)}: ${countOf(status.replays, 'delivery')} of a replay ${status.replays === 1 ? 'is' : 'are'} left.`,
    `  ${command(`cancel-replay ${name}`)} cancels ${status.replays === 1 ? 'it' : 'them'}.`,
  ];
}

/** Time after which the daily limit that a destination reported is out of date, in ms. */
const QUOTA_KNOWN_MS = 86_400_000;

/** Returns a note about the daily limit of the destination. */
function quotaLines({ name, status }: SinkView, { now }: NoteContext): string[] {
  const quota = status?.health.quota;
  if (!quota || now.getTime() - quota.readAt.getTime() > QUOTA_KNOWN_MS) return [];
  const { unit, used, limit, readAt } = quota;
  return [
    `${printable(name)}: ${printCount(used)} of ${printCount(limit)} ${printable(unit)} a day were used, as of ${printAge(readAt, now)}.`,
  ];
}
