import { countOf, printAge, printCount, printLength, printMomentAndAge } from '../../platform/text/format.ts';
import { printable } from '../../platform/text/printable.ts';
import { breakerJson } from '../../status/breaker-json.ts';
import { nextAttemptAt } from '../../status/next-attempt.ts';
import type { ProblemContext } from '../../status/problem.ts';
import type { SinkView } from '../../status/status-view.ts';

type NoteContext = Pick<ProblemContext, 'now' | 'running' | 'command'>;

/**
 * Returns lines about a sink that explain what it does: when leadsync tries it again, its circuit breaker is open or near it, `where` lets nothing through, `rate` slows it
 * down, a replay is under way, or its destination has a daily limit.
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
  const when = at > now ? printMomentAndAge(at, now) : 'due now';
  return [`${printable(sink.name)}: next ${sink.state === 'held' ? 'probe' : 'attempt'} ${when}.`];
}

/** A sink gets a note if this share of its last attempts failed, or if it is held or recovers from a hold. */
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

/** A backlog gets a note if `rate` makes it take this long, in ms. */
const SLOW_MS = 60_000;
const PERIODS: ReadonlyMap<number, string> = new Map([
  [1_000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
]);

/** Returns a note about a backlog that `rate` makes wait. The time is a lower bound: batches may also be smaller or fail. */
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

/** A sink gets a note if `where` has left out every lead for this long, in ms. */
const ALL_LEFT_OUT_MS = 86_400_000;

/** Returns a note about a sink whose `where` lets nothing through: either nobody asks for its services, or `where` is wrong. */
function leftOutLines({ name, config, status }: SinkView, { now, command }: NoteContext): string[] {
  if (config?.mapping?.where === undefined || !status?.leftOut || status.pending > 0) return [];
  const { leftOut, health } = status;
  const since = health.lastDeliveredAt;
  if (since && now.getTime() - since.getTime() < ALL_LEFT_OUT_MS) return [];
  const when = since ? `since the last delivery, ${printAge(since, now)}` : 'so far';
  return [
    `${printable(name)}: \`where\` has left out all leads ${when}: ${printCount(leftOut)}.`,
    `  If that is not meant, ${command(`test ${name} --last 50`)} shows what it does to the last leads.`,
  ];
}

/** Returns a note about the deliveries that replays still owe. */
function replayLines({ name, status }: SinkView, { command }: NoteContext): string[] {
  if (!status?.replays) return [];
  return [
    `${printable(name)}: ${countOf(status.replays, 'delivery')} of a replay ${status.replays === 1 ? 'is' : 'are'} left.`,
    `  ${command(`cancel-replay ${name}`)} cancels ${status.replays === 1 ? 'it' : 'them'}.`,
  ];
}

/** A daily limit that was read longer ago is out of date, in ms. */
const QUOTA_KNOWN_MS = 86_400_000;

/** Returns a note about the daily limit of the destination. */
function quotaLines({ name, status }: SinkView, { now }: NoteContext): string[] {
  const quota = status?.health.quota;
  if (!quota || now.getTime() - quota.readAt.getTime() > QUOTA_KNOWN_MS) return [];
  const { unit, used, limit, readAt } = quota;
  return [
    `${printable(name)}: ${printCount(used)} of ${printCount(limit)} ${printable(unit)} a day were used ${printAge(readAt, now)}.`,
  ];
}
