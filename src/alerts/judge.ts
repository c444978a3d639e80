import { fallenFrom } from '../leads/listing-fall.ts';
import { countOf, printMinute, printSpan, sentence } from '../platform/text/format.ts';
import type { Condition, Limits } from './condition.ts';
import type { Observed, ObservedExport, ObservedSink, ObservedSource } from './observed.ts';

/** One condition of one source, sink or export, as it is now. */
export interface Judged {
  readonly condition: Condition;
  readonly about: string | undefined;
  /** `unknown`: it cannot be told now, and stays what it was. */
  readonly state: 'well' | 'unknown' | Wrong;
  /** Said when it is over. */
  readonly over: string;
}

/** A condition that holds now, in whole sentences. Whether somebody was told already is the book's to know. */
export interface Wrong {
  /** Since when; undefined: since it was first found. */
  readonly since: Date | undefined;
  /** How long it has to last before somebody hears of it, in ms. */
  readonly afterMs: number;
  readonly what: string;
  readonly next: string;
}

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
export function judge(observed: Observed, names: Names, limits: Limits): readonly Judged[] {
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
export interface Names {
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
  observed: Observed,
  limits: Limits,
) => Wrong | 'unknown' | undefined;
type Rule<Of> = readonly [condition: Condition, over: string, find: Find<Of>];

function judgeBy<Of>(
  [condition, over, find]: Rule<Of>,
  about: string | undefined,
  of: Of | undefined,
  observed: Observed,
  limits: Limits,
): Judged | undefined {
  const limitMs = limits[condition];
  if (limitMs === undefined) return undefined;
  const state = of === undefined ? 'unknown' : (find(of, limitMs, observed, limits) ?? 'well');
  return { condition, about, state, over: about === undefined ? over : `${about} ${over}` };
}

const SOURCE: readonly Rule<ObservedSource>[] = [
  ['no_poll', 'is polled to the end again.', noPoll],
  ['source_refused', 'is let in again.', refused],
  ['source_silent', 'lists new leads again.', silent],
  ['listing_shrunk', 'lists its leads again, or has listed as few for a week.', shrunk],
];

const SINK: readonly Rule<ObservedSink>[] = [
  ['sink_held', 'takes leads again, or is held no longer.', held],
  ['sink_paused', 'is paused no longer.', paused],
  [
    'deliveries_dead',
    'has given up no lead for an hour; those that it has given up stay dead until `leadsync retry`.',
    dead,
  ],
  ['backlog_old', 'has no old backlog any more.', backlogOld],
  ['slow_to_lead', 'gets its leads in time again.', slow],
];

const EXPORT: readonly Rule<ObservedExport>[] = [
  ['export_fails', 'is made again, or has another configuration.', exportFails],
];

const WHOLE: readonly Rule<Observed>[] = [
  ['config_stale', 'The configuration is valid again, and in force.', stale],
  ['carrier_down', 'The queue works again; what waited goes out.', carrierDown],
  ['ledger_fails', 'The ledger can be written again.', ledgerFails],
];

function noPoll(
  { name, overdueSince, lastSuccessAt, failure }: ObservedSource,
  afterMs: number,
  _observed: Observed,
  limits: Limits,
): Wrong | 'unknown' | undefined {
  if (!overdueSince) return undefined;
  // One cause, one alert; and an alert that was told before is not over because of it.
  if (failure?.needsSomebody && limits.source_refused !== undefined) return 'unknown';
  const before = lastSuccessAt ? '' : ' since leadsync runs';
  const why = failure ? ` The last one failed: ${failure.reason}` : '';
  return {
    since: undefined, // after a long stop the first poll gets as much time as any other
    afterMs,
    what: `${name}: no poll has come to its end${before}, so new leads are not seen.${why}`,
    next: failure?.hint || '`leadsync check` tries now and says why; `leadsync status` shows the last poll.',
  };
}

function refused({ name, failure }: ObservedSource, afterMs: number): Wrong | undefined {
  if (!failure?.needsSomebody) return undefined;
  return {
    since: undefined,
    afterMs,
    what: `${name}: the service refuses leadsync, and waiting does not mend that: ${failure.reason}`,
    next:
      failure.hint ||
      'Correct client_id and client_secret, then `leadsync reload`; `leadsync check` tries now.',
  };
}

function silent({ name, silence }: ObservedSource, limitMs: number): Wrong | undefined {
  if (!silence || silence.probability >= IMPLAUSIBLE) return undefined;
  const lengthMs = silence.until.getTime() - silence.since.getTime();
  if (lengthMs < limitMs) return undefined;
  return {
    since: silence.since,
    afterMs: 0,
    what: `${name}: polls work, and no lead has been new for ${printSpan(lengthMs)}. By its last weeks that happens less than once in 1,000 times.`,
    next: 'Ask whoever runs the service whether that can be, and compare with what the account shows. A holiday looks the same.',
  };
}

function shrunk({ name, listing }: ObservedSource, afterMs: number): Wrong | undefined {
  const before = listing && fallenFrom(listing);
  if (!listing || before === undefined) return undefined;
  return {
    since: undefined,
    afterMs,
    what: `${name}: its listing has fallen from ${countOf(before, 'lead')} to ${listing.listed}.`,
    next: `See whether this is the right account, and what its scope lets it see; \`leadsync login ${name}\` logs a person in again. Nothing is removed from the ledger: the page Leads shows which are gone.`,
  };
}

function held({ name, health, pending }: ObservedSink, afterMs: number): Wrong | undefined {
  if (!health.heldSince || health.pausedSince) return undefined;
  return {
    since: health.heldSince,
    afterMs,
    what: `${name} is held: ${sentence(health.heldReason ?? 'no reason was kept')}`,
    next: `Mend the destination. Nothing is lost: ${waiting(pending)}, and it is tried again by itself; \`leadsync resume ${name}\` tries now.`,
  };
}

function paused({ name, health, pending }: ObservedSink, afterMs: number): Wrong | undefined {
  if (!health.pausedSince) return undefined;
  return {
    since: health.pausedSince,
    afterMs,
    what: `${name} is paused: ${sentence(health.pausedReason || 'no reason was given')}`,
    next: `\`leadsync resume ${name}\` goes on; ${waiting(pending)}.`,
  };
}

function dead(
  { name, lastDeadAt, dead }: ObservedSink,
  afterMs: number,
  { at }: Observed,
): Wrong | undefined {
  if (dead === 0 || !lastDeadAt || at.getTime() - lastDeadAt.getTime() > DYING_MS) return undefined;
  return {
    since: undefined,
    afterMs,
    what: `${name}: ${countOf(dead, 'lead')} died.`,
    next: `\`leadsync deliveries --sink ${name} --state dead\` says why; \`leadsync retry --sink ${name} --state dead\` tries again, once the cause is mended.`,
  };
}

function backlogOld(sink: ObservedSink, limitMs: number, { at }: Observed): Wrong | undefined {
  const { name, health, oldestOwedAt, pending, batchWaitMs } = sink;
  if (!oldestOwedAt || health.heldSince || health.pausedSince) return undefined;
  const ageMs = at.getTime() - oldestOwedAt.getTime();
  if (ageMs <= limitMs + batchWaitMs) return undefined;
  return {
    since: undefined,
    afterMs: DRAINING_MS,
    what: `${name}: the oldest of ${countOf(pending, 'pending lead')} has waited for ${printSpan(ageMs)}, and the sink is neither held nor paused.`,
    next: `\`leadsync deliveries --sink ${name} --state pending\` says whether some are tried again; if all wait, the sink is too slow: raise concurrency or batch.max.`,
  };
}

function slow({ name, health, recentMs, batchWaitMs }: ObservedSink, limitMs: number): Wrong | undefined {
  if (health.heldSince || health.pausedSince) return undefined;
  const late = recentMs.filter((ms) => ms > limitMs + batchWaitMs).length;
  if (late < SLOW_LEADS || late <= recentMs.length * SLOW_PART) return undefined;
  return {
    since: undefined,
    afterMs: SLOW_FOR_MS,
    what: `${name}: ${late} of the last ${recentMs.length} new leads took longer than ${printSpan(limitMs + batchWaitMs)} to arrive.`,
    next: `See how long its attempts take (\`leadsync trace LEAD\`); raise the concurrency of ${name} if the destination bears it.`,
  };
}

function exportFails({ name, lastMadeAt, failure }: ObservedExport, afterMs: number): Wrong | undefined {
  if (!failure) return undefined;
  const times = failure.times === 1 ? 'once' : `${failure.times} times in a row`;
  const last = lastMadeAt ? `the last one is of ${printMinute(lastMadeAt)}` : 'none was ever made';
  return {
    since: undefined,
    afterMs,
    what: `Export ${name} has failed ${times}, and ${last}: ${failure.reason}`,
    next: `${failure.hint} It is tried again by itself, at least once an hour; \`leadsync export --name ${name}\` makes it now.`,
  };
}

function stale({ stale }: Observed, afterMs: number): Wrong | undefined {
  if (!stale) return undefined;
  return {
    since: stale.since,
    afterMs,
    what: `leadsync keeps to an earlier configuration: the file is not valid. ${stale.faults[0] ?? ''}`,
    next: '`leadsync validate` shows every fault; `leadsync reload` takes it over once they are mended.',
  };
}

function carrierDown({ carrier }: Observed, afterMs: number): Wrong | undefined {
  if (carrier === undefined) return undefined;
  return {
    since: undefined,
    afterMs,
    what: `The queue cannot be used; leads are recorded and wait. ${carrier}`,
    next: '`leadsync check` says what Redis answers. Nothing is lost, even when Redis comes back empty.',
  };
}

function ledgerFails({ ledger }: Observed, afterMs: number): Wrong | undefined {
  if (!ledger) return undefined;
  return {
    since: undefined,
    afterMs,
    what: `The ledger fails, so nothing is recorded or delivered: ${ledger.reason}`,
    next: ledger.hint || 'See what leadsync logs, and whether the disk is full.',
  };
}

function waiting(pending: number): string {
  if (pending === 0) return 'nothing waits';
  return `${countOf(pending, 'lead')} ${pending === 1 ? 'waits' : 'wait'}`;
}
