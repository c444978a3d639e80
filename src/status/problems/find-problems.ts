import type { StatusCode } from '../../leads/problems.ts';
import {
  countOf,
  isDueNow,
  printAge,
  printMoment,
  printMomentAndAge,
} from '../../platform/text/human-readable.ts';
import { type ExportView, runsOf } from '../export-view.ts';
import type { SinkView, SourceView } from '../status-view.ts';
import { failedFiles } from './export-checks.ts';
import { differingConfigs, freeDuties, missingProcesses, wrongClocks } from './machine-checks.ts';
import {
  commandInText,
  LATE_MS,
  listOf,
  type Problem,
  type ProblemContext,
  problem,
  SEE_LOG,
} from './problem.ts';
import { lowDisk, staleConfig } from './process-problems.ts';
import { deadLeads, heldSink, pausedSink, waiting } from './sink-checks.ts';
import { findSourceProblems } from './source-problems.ts';

type NowAndCommand = Pick<ProblemContext, 'now' | 'command'>;
/** What a text about the secrets of a sink depends on. */
type SecretContext = Pick<ProblemContext, 'secrets' | 'namesOrigins'>;
/** What the problems of a sink depend on, apart from the sink. */
type SinkContext = SecretContext & Pick<ProblemContext, 'now' | 'command' | 'running' | 'queued'>;

/** Failing deliveries become a problem after the first has failed for this long, in ms, or when so many fail. */
const TRANSIENT_MS = 60_000;
const MANY_RETRIED = 10;
const ORDER = { critical: 0, warning: 1 } as const;
/** Time for which a restored ledger is reported, in ms. Long enough to cover a weekend. */
const RESTORED_REPORTED_MS = 3 * 86_400_000;

/** Returns every problem, critical ones first, for the command line, the pages and the API. */
export function findProblems(
  sources: readonly SourceView[],
  sinks: readonly SinkView[],
  context: ProblemContext,
): Problem[] {
  const problems = [
    ...(context.running ? notReady(context) : [notRunning(context)]),
    ...(context.stale ? [staleConfig(context.stale, context)] : []),
    ...restored(context),
    ...machineProblems(context, sources),
    ...(context.disk ? listOf(lowDisk(context.disk)) : []),
    ...sources.flatMap((source) => findSourceProblems(source, context)),
    ...sinks.flatMap((sink) => findSinkProblems(sink, context)),
    ...context.exports.flatMap((one) => findExportProblems(one, context)),
    ...alertProblems(context),
  ];
  return problems.toSorted((one, other) => ORDER[one.severity] - ORDER[other.severity]);
}

function notRunning({ command, usedElsewhere }: ProblemContext): Problem {
  if (usedElsewhere !== undefined) {
    const nextStep =
      'Run this command on one of these machines, with the same configuration: it shows the whole state.';
    const message = `No leadsync is running on this data directory. These work on the ledger, or were killed in the last 10 seconds: ${usedElsewhere}.`;
    return problem('not_running', null, message, nextStep, nextStep, 'warning');
  }
  const message = 'No leadsync is running on this data directory, so nothing is polled or delivered.';
  return problem('not_running', null, message, `${command('run')} starts it.`);
}

function notReady({ answers, unready, command }: ProblemContext): Problem[] {
  const before = answers ? 'leadsync is running but not ready: ' : '';
  const nextStep = answers ? `${command('check')} tests what it needs.` : '';
  return unready.map((reason) => problem('not_ready', null, `${before}${reason}`, nextStep));
}

function restored({ restoredAt, now, command }: ProblemContext): Problem[] {
  if (!restoredAt || now.getTime() - restoredAt.getTime() > RESTORED_REPORTED_MS) return [];
  return [
    problem(
      'ledger_restored',
      null,
      `leadsync found at ${printMomentAndAge(restoredAt, now)} that the ledger is a copy or was restored from a backup. Deliveries that were made after the backup may be repeated, mostly under the same idempotency keys.`,
      `No action is needed. ${command('reconcile')} compares a sink with the ledger. This warning ends after 3 days.`,
    ),
  ];
}

function machineProblems(context: ProblemContext, sources: readonly SourceView[]): Problem[] {
  const { machines, now } = context;
  if (!machines) return [];
  const polled = sources.filter(({ config }) => config).map(({ name }) => name);
  return [
    freeDuties(machines, polled, now, context),
    missingProcesses(machines, context),
    differingConfigs(machines, context),
    wrongClocks(machines),
  ].flatMap(listOf);
}

/** Conditions about a period of a source. Only the running leadsync knows them, because it evaluates them for its alerts. */
export const SOURCE_ALERTS: readonly StatusCode[] = ['source_silent'];
/** Like `SOURCE_ALERTS`, of a sink. */
export const SINK_ALERTS: readonly StatusCode[] = ['backlog_old', 'slow_to_lead'];

/** Returns the active alerts that no other problem says. */
function alertProblems({ alerts = [] }: ProblemContext): Problem[] {
  return [...SOURCE_ALERTS, ...SINK_ALERTS].flatMap((code) =>
    alerts
      .filter(({ condition }) => condition === code)
      .map(({ about, what, severity }) => problem(code, about ?? null, what, '', '', severity)),
  );
}

/** Returns the codes of the problems of one sink, by which pages mark it. */
export function sinkProblemCodes(sink: SinkView, now: Date): StatusCode[] {
  // The context affects only the wording.
  const context = { now, command: commandInText, running: true, queued: false };
  return findSinkProblems(sink, context).map(({ code }) => code);
}

function findSinkProblems(sink: SinkView, context: SinkContext): Problem[] {
  const { name, status, state } = sink;
  const died = status && deadLeads({ ...status, name, isRemoved: state === 'orphaned' }, context);
  return [...findStateProblems(sink, context), ...stuck(sink, context), ...listOf(died)];
}

/** Returns a list with the problem that the state of a sink causes, or an empty list if it causes none. */
export function findStateProblems(
  { name, state, status }: SinkView,
  { now, command, secrets, namesOrigins = false }: NowAndCommand & SecretContext,
): Problem[] {
  const facts = status && { ...status, name, secrets };
  const backlog = waiting(status?.pending ?? 0);
  switch (state) {
    case 'held':
      return listOf(facts && heldSink(facts, { now, command, namesOrigins }));
    case 'paused':
      return listOf(facts && pausedSink(facts, { now, command }));
    case 'retrying':
      return retrying(name, status, { now, command });
    case 'new':
      return [
        problem(
          'sink_new',
          name,
          `${name} is new: leadsync delivers to it after its next start or reload.`,
          `${command('run')} starts leadsync.`,
        ),
      ];
    case 'orphaned':
      if (!status?.pending) return [];
      return [
        problem(
          'sink_removed',
          name,
          `${name} is no longer in the configuration; ${backlog} in case you add it again.`,
          `${command(`forget ${name}`)} skips them for good. If you renamed the sink, add \`formerly: ${name}\` to it.`,
        ),
      ];
    case 'disabled':
      if (!status?.pending) return [];
      return [
        problem(
          'sink_disabled',
          name,
          `${name} is disabled in the configuration; ${backlog} until you enable it.`,
          `Set \`enabled: true\`, then ${command('reload')}.`,
        ),
      ];
    case 'healthy':
      return [];
  }
}

function retrying(name: string, status: SinkView['status'], { now, command }: NowAndCommand): Problem[] {
  if (!status?.retrying) return [];
  const { deliveries, since, reason, nextAttemptAt } = status.retrying;
  // A flaky destination fails single leads all the time. A few new failures are not a problem yet.
  if (deliveries < MANY_RETRIED && now.getTime() - since.getTime() < TRANSIENT_MS) return [];
  const nextStep =
    nextAttemptAt <= now
      ? `The next attempt has been due since ${printMoment(nextAttemptAt)}.`
      : isDueNow(nextAttemptAt, now)
        ? 'The next attempt is due now.'
        : `The next attempt is ${printAge(nextAttemptAt, now)}; ${command(`retry --sink ${name} --state pending`)} makes all of them due now.`;
  const leads = `${countOf(deliveries, 'lead')} failed and ${deliveries === 1 ? 'waits' : 'wait'} for a retry`;
  return [problem('leads_retried', name, `${name}: ${leads}: ${reason}`, nextStep)];
}

/** Finds due deliveries that leadsync does not attempt although the sink is neither held nor paused. */
function stuck({ name, state, config, status }: SinkView, context: SinkContext): Problem[] {
  if ((state !== 'healthy' && state !== 'retrying') || !config || !status?.dueSince) return [];
  // A slow destination may keep every batch in flight until its timeout.
  const graceMs = config.batch.waitMs + (context.running ? config.timeoutMs : 0) + LATE_MS;
  const late = (at: Date | undefined) => at === undefined || context.now.getTime() - at.getTime() > graceMs;
  // A backlog that drains is not a problem, however long it is.
  if (!late(status.dueSince) || !late(status.health.lastDeliveredAt)) return [];
  const due = `due since ${printMomentAndAge(status.dueSince, context.now)}`;
  return [
    problem(
      'leads_stuck',
      name,
      `${name}: ${waiting(status.pending)}, ${due}, but leadsync delivers nothing.`,
      likelyCause(context),
    ),
  ];
}

function likelyCause({ running, queued, command }: SinkContext): string {
  if (!running) return `No leadsync is running: ${command('run')} starts it.`;
  if (!queued) return SEE_LOG;
  return `Either Redis does not answer (${command('check')} tests it), or leadsync runs with --no-deliver and no ${command('worker')} is running.`;
}

function findExportProblems(view: ExportView, context: ProblemContext): Problem[] {
  return listOf(failedFiles(runsOf(view.config, view.state, context.now), context.running, context));
}
