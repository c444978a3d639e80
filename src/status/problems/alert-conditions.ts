import type { ActiveCondition, Evaluation } from '../../alerts/alert-tracker.ts';
import type { Condition, Limits } from '../../alerts/condition.ts';
import { countOf, printSpan } from '../../platform/text/human-readable.ts';
import { NEEDS_OPERATOR } from '../../telemetry/events/source-events.ts';
import type { FileRuns } from '../export-view.ts';
import type { AlertInputs, ObservedSink, ObservedSource } from './alert-inputs.ts';
import { failedFiles } from './export-checks.ts';
import { differingConfigs, freeDuties, missingProcesses, wrongClocks } from './machine-checks.ts';
import { failedPoll, rejectedLeads, shrunkListing } from './poll-checks.ts';
import { commandInText, type Problem } from './problem.ts';
import { lowDisk, staleConfig } from './process-problems.ts';
import { deadLeads, heldSink, pausedSink } from './sink-checks.ts';

/** Texts of alerts state no ages, because people read them later and each notice states the start on a line of its own. */
const ALERT_TEXT = { command: commandInText };
/** Threshold for silence. A source is silent if, judging by its history, a gap as long as the current one is less probable than this. */
const MAX_SILENCE_PROBABILITY = 1 / 1000;
/** Time for which `deliveries_dead` holds after the last delivery died, in ms. */
const RECENTLY_DEAD_MS = 3_600_000;
/** Time for which deliveries must be slow before an alert, in ms. */
const SLOW_FOR_MS = 300_000;
/** Time that a backlog has to drain after a hold, a pause or a stop of leadsync before an alert reports it, in ms. */
const DRAINING_MS = 300_000;
/** Minimum number and share of slow leads; a single lead that was retried proves little. */
const MIN_SLOW_LEADS = 3;
const MIN_SLOW_SHARE = 0.05;

/** Evaluates every enabled condition once for each source, sink, export or backup that it concerns, or once if it concerns leadsync itself. */
export function evaluateConditions(
  observed: AlertInputs,
  names: ConfiguredNames,
  limits: Limits,
): readonly Evaluation[] {
  const apply = <Of>(rules: readonly Rule<Of>[], about: string | undefined, of: Of | undefined) =>
    rules.map((rule) => evaluate(rule, about, of, observed, limits));
  const each = <Of extends Named>(
    rules: readonly Rule<Of>[],
    all: readonly string[],
    known?: readonly Of[],
  ) =>
    all.flatMap((name) => {
      const of = known?.find((one) => one.name === name);
      return apply(rules, name, of);
    });
  const evaluations = [
    ...each(SOURCE, names.sources, observed.sources),
    ...each(SINK, names.sinks, observed.sinks),
    ...each(EXPORT, names.exports, observed.exports),
    ...each(BACKUP, names.backups, observed.exports),
    ...apply(PROCESS, undefined, observed),
  ];
  return evaluations.filter((one) => one !== undefined);
}

/** Names of the sources, sinks, exports and backups in force. */
export interface ConfiguredNames {
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly exports: readonly string[];
  readonly backups: readonly string[];
}

interface Named {
  readonly name: string;
}

type Find<Of> = (
  of: Of,
  limitMs: number,
  observed: AlertInputs,
  limits: Limits,
) => ActiveCondition | 'unknown' | undefined;
type Rule<Of> = readonly [condition: Condition, resolved: string, find: Find<Of>];

function evaluate<Of>(
  [condition, resolved, find]: Rule<Of>,
  about: string | undefined,
  of: Of | undefined,
  observed: AlertInputs,
  limits: Limits,
): Evaluation | undefined {
  const limitMs = limits[condition];
  if (limitMs === undefined) return undefined;
  const state = of === undefined ? 'unknown' : (find(of, limitMs, observed, limits) ?? 'well');
  return { condition, about, state, over: about === undefined ? resolved : `${about} ${resolved}` };
}

const SOURCE: readonly Rule<ObservedSource>[] = [
  ['no_poll', 'has a complete poll again.', noPoll],
  [
    'source_refused',
    'no longer fails in a way that needs an operator.',
    ({ name, failure }, afterMs) =>
      isRefused(failure) ? wrong(failedPoll(name, failure, true, ALERT_TEXT), afterMs) : undefined,
  ],
  ['source_silent', 'lists new leads again.', silent],
  [
    'listing_shrunk',
    'lists its leads again, or has listed only this many for a week.',
    ({ name, listing, grant }, afterMs) =>
      wrong(listing && shrunkListing(name, listing, ALERT_TEXT, grant), afterMs),
  ],
  [
    'leads_rejected',
    'has only valid leads in its last complete listing.',
    ({ name, rejected, rejectedReason }, afterMs) =>
      counted(wrong(rejectedLeads(name, rejected, ALERT_TEXT, rejectedReason), afterMs), rejected),
  ],
];

const SINK: readonly Rule<ObservedSink>[] = [
  [
    'sink_held',
    'is no longer held.',
    (sink, afterMs, { at }) => wrong(heldSink(sink, ALERT_TEXT, at), afterMs, sink.health.heldSince),
  ],
  [
    'sink_paused',
    'is no longer paused.',
    (sink, afterMs) => wrong(pausedSink(sink, ALERT_TEXT), afterMs, sink.health.pausedSince),
  ],
  [
    'deliveries_dead',
    'has no dead delivery, or no new one for an hour; dead deliveries stay dead until `leadsync retry` or `leadsync discard`.',
    (sink, afterMs, { at }) =>
      counted(wrong(hasRecentlyDied(sink, at) ? deadLeads(sink, ALERT_TEXT) : undefined, afterMs), sink.dead),
  ],
  ['backlog_old', 'no longer has an old backlog.', backlogOld],
  ['slow_to_lead', 'gets its leads in time again.', slow],
];

const SUCCEEDS_AGAIN = 'succeeds again, or has a new configuration.';

const EXPORT: readonly Rule<FileRuns>[] = [
  ['export_fails', SUCCEEDS_AGAIN, (one, afterMs) => wrong(failedFiles(one, true, ALERT_TEXT), afterMs)],
];

const BACKUP: readonly Rule<FileRuns>[] = [
  ['backup_fails', SUCCEEDS_AGAIN, (one, afterMs) => wrong(failedFiles(one, true, ALERT_TEXT), afterMs)],
];

const PROCESS: readonly Rule<AlertInputs>[] = [
  [
    'config_stale',
    'The configuration file is valid again and in force.',
    ({ stale }, afterMs) => wrong(stale && staleConfig(stale, ALERT_TEXT), afterMs, stale?.since),
  ],
  [
    'duty_free',
    'Every part of the work is done again.',
    ofMachines(({ status, now }, { sources = [] }) =>
      freeDuties(
        status,
        sources.map(({ name }) => name),
        now,
        ALERT_TEXT,
      ),
    ),
  ],
  [
    'process_missing',
    'No process is missing any more, or 10 minutes have passed since it was last seen.',
    ofMachines(({ status }) => missingProcesses(status, ALERT_TEXT)),
  ],
  [
    'config_differs',
    'All machines have the same configuration again.',
    ofMachines(({ status }) => differingConfigs(status, ALERT_TEXT)),
  ],
  [
    'clock_differs',
    'The clocks of the machines agree with that of the server again.',
    ofMachines(({ status }) => wrongClocks(status)),
  ],
  ['carrier_down', 'The queue works again; leadsync delivers the leads that waited.', carrierDown],
  [
    'disk_low',
    'The disk of the data directory has enough free space again.',
    ({ disk }, afterMs) => wrong(lowDisk(disk), afterMs),
  ],
  ['ledger_fails', 'leadsync can write to the ledger again.', ledgerFails],
];

/**
 * Returns a problem as an active condition that must last `afterMs` before an alert. `since` is its start, if known. The severity is that of the
 * problem, so that an alert and `status` agree.
 */
function wrong(
  found: (Pick<Problem, 'message' | 'nextStep'> & Partial<Pick<Problem, 'severity'>>) | undefined,
  afterMs: number,
  since?: Date,
): ActiveCondition | undefined {
  return found && { since, afterMs, what: found.message, next: found.nextStep, severity: found.severity };
}

/** Returns a condition of the machines. It is unknown while the ledger cannot be read. */
function ofMachines(
  find: (machines: NonNullable<AlertInputs['machines']>, observed: AlertInputs) => Problem | undefined,
): Find<AlertInputs> {
  return (observed, afterMs) => {
    const { machines, sources } = observed;
    if (machines) return wrong(find(machines, observed), afterMs);
    return sources ? undefined : 'unknown';
  };
}

/** Adds the number of affected leads or deliveries, so that another notice follows when the number has grown much. */
function counted(active: ActiveCondition | undefined, count: number): ActiveCondition | undefined {
  return active && { ...active, count };
}

/** Whether the last poll failed in a way that needs an operator. */
function isRefused(failure: ObservedSource['failure']): failure is NonNullable<typeof failure> {
  return failure !== undefined && NEEDS_OPERATOR.has(failure.code);
}

function hasRecentlyDied({ lastDeadAt }: ObservedSink, at: Date): boolean {
  return lastDeadAt !== undefined && at.getTime() - lastDeadAt.getTime() <= RECENTLY_DEAD_MS;
}

function noPoll(
  { name, overdueSince, lastSuccessAt, failure }: ObservedSource,
  afterMs: number,
  _observed: AlertInputs,
  limits: Limits,
): ActiveCondition | 'unknown' | undefined {
  if (!overdueSince) return undefined;
  // One cause, one alert: source_refused reports it. `unknown` keeps an alert that was already sent.
  if (isRefused(failure) && limits.source_refused !== undefined) return 'unknown';
  const before = lastSuccessAt ? ' in time' : ' since leadsync started';
  const why = failure ? ` The last poll failed: ${failure.reason}` : '';
  const message = `${name}: no poll has completed${before}, so leadsync does not see new leads.${why}`;
  const nextStep =
    failure?.hint || '`leadsync check` tries now and shows why; `leadsync status` shows the last poll.';
  // No `since`: after a long stop, the first poll gets as much time as any other.
  return wrong({ message, nextStep }, afterMs);
}

function silent({ name, silence }: ObservedSource, limitMs: number): ActiveCondition | undefined {
  if (!silence || silence.probability >= MAX_SILENCE_PROBABILITY) return undefined;
  const lengthMs = silence.until.getTime() - silence.since.getTime();
  if (lengthMs < limitMs) return undefined;
  const message = `${name}: polls work, but there has been no new lead for ${printSpan(lengthMs)}. Judging by the last few weeks, the probability of that is less than 1 in 1,000.`;
  const nextStep =
    'Ask the operator of the service, and compare with the leads that the account shows. A holiday looks the same.';
  return wrong({ message, nextStep }, 0, silence.since);
}

function backlogOld(sink: ObservedSink, limitMs: number, { at }: AlertInputs): ActiveCondition | undefined {
  const { name, health, oldestOwedAt, pending, batchWaitMs } = sink;
  if (!oldestOwedAt || health.heldSince || health.pausedSince) return undefined;
  const ageMs = at.getTime() - oldestOwedAt.getTime();
  if (ageMs <= limitMs + batchWaitMs) return undefined;
  const message = `${name}: the oldest of ${countOf(pending, 'pending lead')} has waited for ${printSpan(ageMs)}, although the sink is neither held nor paused.`;
  const nextStep = `\`leadsync deliveries --sink ${name} --state pending\` shows whether some are being retried. If none is, the sink is too slow: raise its concurrency or batch.max.`;
  return wrong({ message, nextStep }, DRAINING_MS);
}

function slow(
  { name, health, recentMs, batchWaitMs }: ObservedSink,
  limitMs: number,
): ActiveCondition | undefined {
  if (health.heldSince || health.pausedSince) return undefined;
  const late = recentMs.filter((ms) => ms > limitMs + batchWaitMs).length;
  if (late < MIN_SLOW_LEADS || late <= recentMs.length * MIN_SLOW_SHARE) return undefined;
  const message = `${name}: ${late} of the last ${recentMs.length} new leads took longer than ${printSpan(limitMs + batchWaitMs)} to arrive.`;
  const nextStep = `Check how long its attempts take (\`leadsync trace LEAD\`); raise the concurrency of ${name} if the destination can handle it.`;
  return wrong({ message, nextStep }, SLOW_FOR_MS);
}

function carrierDown({ carrier }: AlertInputs, afterMs: number): ActiveCondition | undefined {
  if (carrier === undefined) return undefined;
  const message = `The queue does not work; leadsync records leads but cannot deliver them. ${carrier}`;
  const nextStep =
    '`leadsync check` shows what Redis answers. Nothing is lost, even if Redis loses its data.';
  return wrong({ message, nextStep }, afterMs);
}

function ledgerFails({ ledger }: AlertInputs, afterMs: number): ActiveCondition | undefined {
  if (!ledger) return undefined;
  const message = `The ledger fails, so leadsync neither records nor delivers: ${ledger.reason}`;
  const nextStep = ledger.hint || 'See the log, and check whether the disk is full.';
  return wrong({ message, nextStep }, afterMs);
}
