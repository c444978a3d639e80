import type { ActiveCondition, Evaluation } from '../alerts/alert-tracker.ts';
import type { Condition, Limits } from '../alerts/condition.ts';
import { countOf, printSpan } from '../platform/text/format.ts';
import { NEEDS_OPERATOR } from '../telemetry/events/source-events.ts';
import type { Observation, ObservedExport, ObservedSink, ObservedSource } from './observation.ts';
import { commandInText, type Problem } from './problem.ts';
import {
  deadLeads,
  failedExport,
  failedPoll,
  heldSink,
  pausedSink,
  shrunkListing,
  staleConfig,
} from './shared-problems.ts';

/** An alert says since when in a line of its own, and is read later. */
const LETTER = { command: commandInText };
/** So rarely, by its own history, is a source without a new lead for so long that it counts as silent. */
const IMPLAUSIBLE = 1 / 1000;
/** How long after the last one leads count as dying, in ms. */
const DYING_MS = 3_600_000;
/** How long leads have to be slow before somebody hears of it, in ms. */
const SLOW_FOR_MS = 300_000;
/** What waited for a sink that was held, paused or without leadsync gets so long to go out, in ms. */
const DRAINING_MS = 300_000;
/** So many leads have to be slow, and so large a part of all: one that was tried again says little. */
const SLOW_LEADS = 3;
const SLOW_PART = 0.05;

/** Judges every condition that is switched on: one result for each source, sink and export. */
export function evaluateConditions(
  observed: Observation,
  names: ConfiguredNames,
  limits: Limits,
): readonly Evaluation[] {
  const apply = <Of>(rules: readonly Rule<Of>[], about: string | undefined, of: Of | undefined) =>
    rules.map((rule) => judgeBy(rule, about, of, observed, limits));
  const each = <Of extends Named>(
    rules: readonly Rule<Of>[],
    all: readonly string[],
    known?: readonly Of[],
  ) =>
    all.flatMap((name) => {
      const of = known?.find((one) => one.name === name);
      return apply(rules, name, of);
    });
  const judged = [
    ...each(SOURCE, names.sources, observed.sources),
    ...each(SINK, names.sinks, observed.sinks),
    ...each(EXPORT, names.exports, observed.exports),
    ...apply(WHOLE, undefined, observed),
  ];
  return judged.filter((one) => one !== undefined);
}

/** The sources, sinks and exports in force. */
export interface ConfiguredNames {
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly exports: readonly string[];
}

interface Named {
  readonly name: string;
}

type Find<Of> = (
  of: Of,
  limitMs: number,
  observed: Observation,
  limits: Limits,
) => ActiveCondition | 'unknown' | undefined;
type Rule<Of> = readonly [condition: Condition, over: string, find: Find<Of>];

function judgeBy<Of>(
  [condition, over, find]: Rule<Of>,
  about: string | undefined,
  of: Of | undefined,
  observed: Observation,
  limits: Limits,
): Evaluation | undefined {
  const limitMs = limits[condition];
  if (limitMs === undefined) return undefined;
  const state = of === undefined ? 'unknown' : (find(of, limitMs, observed, limits) ?? 'well');
  return { condition, about, state, over: about === undefined ? over : `${about} ${over}` };
}

const SOURCE: readonly Rule<ObservedSource>[] = [
  ['no_poll', 'is polled to the end again.', noPoll],
  [
    'source_refused',
    'is let in again.',
    ({ name, failure }, afterMs) =>
      isRefused(failure) ? wrong(failedPoll(name, failure, true, LETTER), afterMs) : undefined,
  ],
  ['source_silent', 'lists new leads again.', silent],
  [
    'listing_shrunk',
    'lists its leads again, or has listed as few for a week.',
    ({ name, listing }, afterMs) => wrong(listing && shrunkListing(name, listing, LETTER), afterMs),
  ],
];

const SINK: readonly Rule<ObservedSink>[] = [
  [
    'sink_held',
    'takes leads again, or is held no longer.',
    (sink, afterMs) => wrong(heldSink(sink, LETTER), afterMs, sink.health.heldSince),
  ],
  [
    'sink_paused',
    'is paused no longer.',
    (sink, afterMs) => wrong(pausedSink(sink, LETTER), afterMs, sink.health.pausedSince),
  ],
  [
    'deliveries_dead',
    'has given up no lead for an hour; those that it has given up stay dead until `leadsync retry`.',
    (sink, afterMs, { at }) => wrong(diedLately(sink, at) ? deadLeads(sink, LETTER) : undefined, afterMs),
  ],
  ['backlog_old', 'has no old backlog any more.', backlogOld],
  ['slow_to_lead', 'gets its leads in time again.', slow],
];

const EXPORT: readonly Rule<ObservedExport>[] = [
  [
    'export_fails',
    'is made again, or has another configuration.',
    (one, afterMs) => wrong(failedExport(one.name, one, true, LETTER), afterMs),
  ],
];

const WHOLE: readonly Rule<Observation>[] = [
  [
    'config_stale',
    'The configuration is valid again, and in force.',
    ({ stale }, afterMs) => wrong(stale && staleConfig(stale, LETTER), afterMs, stale?.since),
  ],
  ['carrier_down', 'The queue works again; what waited goes out.', carrierDown],
  ['ledger_fails', 'The ledger can be written again.', ledgerFails],
];

/** What is wrong, and how long it may be so; `since` is told where it is known. */
function wrong(
  found: Pick<Problem, 'what' | 'next'> | undefined,
  afterMs: number,
  since?: Date,
): ActiveCondition | undefined {
  return found && { since, afterMs, what: found.what, next: found.next };
}

/** Whether the last poll failed in a way that waiting does not mend. */
function isRefused(failure: ObservedSource['failure']): failure is NonNullable<typeof failure> {
  return failure !== undefined && NEEDS_OPERATOR.has(failure.code);
}

function diedLately({ lastDeadAt }: ObservedSink, at: Date): boolean {
  return lastDeadAt !== undefined && at.getTime() - lastDeadAt.getTime() <= DYING_MS;
}

function noPoll(
  { name, overdueSince, lastSuccessAt, failure }: ObservedSource,
  afterMs: number,
  _observed: Observation,
  limits: Limits,
): ActiveCondition | 'unknown' | undefined {
  if (!overdueSince) return undefined;
  // One cause, one alert; and an alert that was told before is not over because of it.
  if (isRefused(failure) && limits.source_refused !== undefined) return 'unknown';
  const before = lastSuccessAt ? '' : ' since leadsync runs';
  const why = failure ? ` The last one failed: ${failure.reason}` : '';
  const what = `${name}: no poll has come to its end${before}, so new leads are not seen.${why}`;
  const next =
    failure?.hint || '`leadsync check` tries now and says why; `leadsync status` shows the last poll.';
  // After a long stop the first poll gets as much time as any other: no time is told since when.
  return wrong({ what, next }, afterMs);
}

function silent({ name, silence }: ObservedSource, limitMs: number): ActiveCondition | undefined {
  if (!silence || silence.probability >= IMPLAUSIBLE) return undefined;
  const lengthMs = silence.until.getTime() - silence.since.getTime();
  if (lengthMs < limitMs) return undefined;
  const what = `${name}: polls work, and no lead has been new for ${printSpan(lengthMs)}. By its last weeks that happens less than once in 1,000 times.`;
  const next =
    'Ask whoever runs the service whether that can be, and compare with what the account shows. A holiday looks the same.';
  return wrong({ what, next }, 0, silence.since);
}

function backlogOld(sink: ObservedSink, limitMs: number, { at }: Observation): ActiveCondition | undefined {
  const { name, health, oldestOwedAt, pending, batchWaitMs } = sink;
  if (!oldestOwedAt || health.heldSince || health.pausedSince) return undefined;
  const ageMs = at.getTime() - oldestOwedAt.getTime();
  if (ageMs <= limitMs + batchWaitMs) return undefined;
  const what = `${name}: the oldest of ${countOf(pending, 'pending lead')} has waited for ${printSpan(ageMs)}, and the sink is neither held nor paused.`;
  const next = `\`leadsync deliveries --sink ${name} --state pending\` says whether some are tried again; if all wait, the sink is too slow: raise concurrency or batch.max.`;
  return wrong({ what, next }, DRAINING_MS);
}

function slow(
  { name, health, recentMs, batchWaitMs }: ObservedSink,
  limitMs: number,
): ActiveCondition | undefined {
  if (health.heldSince || health.pausedSince) return undefined;
  const late = recentMs.filter((ms) => ms > limitMs + batchWaitMs).length;
  if (late < SLOW_LEADS || late <= recentMs.length * SLOW_PART) return undefined;
  const what = `${name}: ${late} of the last ${recentMs.length} new leads took longer than ${printSpan(limitMs + batchWaitMs)} to arrive.`;
  const next = `See how long its attempts take (\`leadsync trace LEAD\`); raise the concurrency of ${name} if the destination bears it.`;
  return wrong({ what, next }, SLOW_FOR_MS);
}

function carrierDown({ carrier }: Observation, afterMs: number): ActiveCondition | undefined {
  if (carrier === undefined) return undefined;
  const what = `The queue cannot be used; leads are recorded and wait. ${carrier}`;
  const next = '`leadsync check` says what Redis answers. Nothing is lost, even when Redis comes back empty.';
  return wrong({ what, next }, afterMs);
}

function ledgerFails({ ledger }: Observation, afterMs: number): ActiveCondition | undefined {
  if (!ledger) return undefined;
  const what = `The ledger fails, so nothing is recorded or delivered: ${ledger.reason}`;
  const next = ledger.hint || 'See what leadsync logs, and whether the disk is full.';
  return wrong({ what, next }, afterMs);
}
