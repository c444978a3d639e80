import { countOf, printAge, printMoment, printMomentAndAge } from '../platform/text/format.ts';
import type { ExportView } from './export-view.ts';
import { LATE_MS, listOf, type Problem, type ProblemContext, problem, SEE_LOG } from './problem.ts';
import { deadLeads, failedExport, heldSink, pausedSink, staleConfig, waiting } from './shared-problems.ts';
import { findSourceProblems } from './source-problems.ts';
import type { SinkView, SourceView } from './status-view.ts';

type Told = Pick<ProblemContext, 'now' | 'command'>;

/** A lead that fails becomes a trouble when it has failed for so long, or is not tried again for so long, in ms. */
const PASSING_MS = 60_000;
const URGENCY = { critical: 0, warning: 1 } as const;
/** How long a restored ledger is told of, in ms: over a weekend. */
const RESTORED_SAID_MS = 3 * 86_400_000;

/** Everything that needs somebody's attention, the critical first; decided here alone, whoever shows it. */
export function findProblems(
  sources: readonly SourceView[],
  sinks: readonly SinkView[],
  given: ProblemContext,
): Problem[] {
  const problems = [
    ...(given.running ? notReady(given) : [notRunning(given)]),
    ...(given.stale ? [staleConfig(given.stale, given)] : []),
    ...restored(given),
    ...sources.flatMap((source) => findSourceProblems(source, given)),
    ...sinks.flatMap((sink) => findSinkProblems(sink, given)),
    ...given.exports.flatMap((one) => findExportProblems(one, given)),
  ];
  return problems.toSorted((one, other) => URGENCY[one.severity] - URGENCY[other.severity]);
}

function notRunning({ command }: ProblemContext): Problem {
  const what = 'No leadsync is running on this data directory: nothing is polled, and nothing delivered.';
  return problem('not_running', null, what, `${command('run')} starts it.`);
}

function notReady({ answers, unready, command }: ProblemContext): Problem[] {
  const before = answers ? 'leadsync is running, and cannot do all of its work: ' : '';
  const next = answers ? `${command('check')} tries what it needs.` : '';
  return unready.map((reason) => problem('not_ready', null, `${before}${reason}`, next));
}

function restored({ restoredAt, now, command }: ProblemContext): Problem[] {
  if (!restoredAt || now.getTime() - restoredAt.getTime() > RESTORED_SAID_MS) return [];
  return [
    problem(
      'ledger_restored',
      null,
      `The ledger is a copy or was restored from a backup, as leadsync found ${printMomentAndAge(restoredAt, now)}: what was delivered after the backup was made may be delivered again, mostly under the same ids.`,
      `There is nothing to do. ${command('reconcile')} compares a sink with the ledger. This line goes after 3 days.`,
    ),
  ];
}

function findSinkProblems(sink: SinkView, given: ProblemContext): Problem[] {
  const { name, status } = sink;
  const died = status && deadLeads({ name, dead: status.dead }, given);
  return [...findStateProblems(sink, given), ...stuck(sink, given), ...listOf(died)];
}

/** Why nothing goes out to a sink, and what to do; empty for one that is well. */
export function findStateProblems({ name, state, status }: SinkView, { now, command }: Told): Problem[] {
  const facts = status && { ...status, name };
  const left = waiting(status?.pending ?? 0);
  switch (state) {
    case 'held':
      return listOf(facts && heldSink(facts, { now, command }));
    case 'paused':
      return listOf(facts && pausedSink(facts, { now, command }));
    case 'retrying':
      return retrying(name, status, { now, command });
    case 'new':
      return [
        problem(
          'sink_new',
          name,
          `${name} is new: leads are owed to it from the next start on.`,
          `${command('run')} starts that.`,
        ),
      ];
    case 'orphaned':
      if (!status?.pending) return [];
      return [
        problem(
          'sink_removed',
          name,
          `${name} is not in the configuration any more; ${left} in case it comes back.`,
          `${command(`forget ${name}`)} skips them for good; under another name it needs \`formerly: ${name}\`.`,
        ),
      ];
    case 'disabled':
      if (!status?.pending) return [];
      return [
        problem(
          'sink_disabled',
          name,
          `${name} is disabled in the configuration; ${left} until it is enabled.`,
          `Set \`enabled: true\`, and ${command('reload')} sends them.`,
        ),
      ];
    case 'healthy':
      return [];
  }
}

function retrying(name: string, status: SinkView['status'], { now, command }: Told): Problem[] {
  if (!status?.retrying) return [];
  const { deliveries, since, reason, nextAttemptAt } = status.retrying;
  // A flaky destination fails one lead or another all the time: what is soon tried again is no trouble yet.
  const isNew = now.getTime() - since.getTime() < PASSING_MS;
  if (isNew && nextAttemptAt.getTime() - now.getTime() < PASSING_MS) return [];
  const next =
    nextAttemptAt > now
      ? `The next attempt is ${printAge(nextAttemptAt, now)}; ${command(`retry --sink ${name} --state pending`)} makes all of them due now.`
      : `The next attempt is due since ${printMoment(nextAttemptAt)}.`;
  const leads = `${countOf(deliveries, 'lead')} failed and ${deliveries === 1 ? 'is' : 'are'} tried again`;
  return [problem('leads_retried', name, `${name}: ${leads}: ${reason}`, next)];
}

/** Leads that should have gone out by now, while nobody holds them back. */
function stuck({ name, state, config, status }: SinkView, given: ProblemContext): Problem[] {
  if ((state !== 'healthy' && state !== 'retrying') || !config || !status?.dueSince) return [];
  const graceMs = config.batch.waitMs + LATE_MS;
  const late = (at: Date | undefined) => at === undefined || given.now.getTime() - at.getTime() > graceMs;
  // A long backlog that drains is no fault.
  if (!late(status.dueSince) || !late(status.health.lastDeliveredAt)) return [];
  const due = `due since ${printMomentAndAge(status.dueSince, given.now)}`;
  return [
    problem(
      'leads_stuck',
      name,
      `${name}: ${waiting(status.pending)}, ${due}, and nothing goes out.`,
      likelyCause(given),
    ),
  ];
}

function likelyCause({ running, queued, command }: ProblemContext): string {
  if (!running) return `No leadsync is running: ${command('run')} starts it.`;
  if (!queued) return SEE_LOG;
  return `Redis may not answer (${command('check')} says so), or no ${command('worker')} is running beside a run --no-deliver.`;
}

function findExportProblems({ config: { name }, state }: ExportView, given: ProblemContext): Problem[] {
  return listOf(failedExport(name, state ?? {}, given.running, given));
}
