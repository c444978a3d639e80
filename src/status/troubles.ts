import { countOf, printAge, printMoment, printMomentAndAge } from '../platform/text/format.ts';
import type { ExportView } from './export-view.ts';
import { sourceTroubles } from './source-troubles.ts';
import type { SinkView, SourceView } from './status-view.ts';
import { type Circumstances, critical, LATE_MS, SEE_LOG, type Trouble, warning } from './trouble.ts';

type Told = Pick<Circumstances, 'now' | 'command'>;

/** A lead that fails becomes a trouble when it has failed for so long, or is not tried again for so long, in ms. */
const PASSING_MS = 60_000;
const URGENCY = { critical: 0, warning: 1 } as const;
/** How long a restored ledger is told of, in ms: over a weekend. */
const RESTORED_SAID_MS = 3 * 86_400_000;
/** So many faults of a configuration are said. */
const FAULTS_SAID = 3;

/** Everything that needs somebody's attention, the critical first; decided here alone, whoever shows it. */
export function troublesOf(
  sources: readonly SourceView[],
  sinks: readonly SinkView[],
  given: Circumstances,
): Trouble[] {
  const troubles = [
    ...(given.running ? notReady(given) : [notRunning(given)]),
    ...staleness(given),
    ...restored(given),
    ...sources.flatMap((source) => sourceTroubles(source, given)),
    ...sinks.flatMap((sink) => sinkTroubles(sink, given)),
    ...given.exports.flatMap((one) => exportTroubles(one, given)),
  ];
  return troubles.toSorted((one, other) => URGENCY[one.severity] - URGENCY[other.severity]);
}

function notRunning({ command }: Circumstances): Trouble {
  const what = 'No leadsync is running on this data directory: nothing is polled, and nothing delivered.';
  return critical(null, what, `${command('run')} starts it.`);
}

function notReady({ answers, unready, command }: Circumstances): Trouble[] {
  const before = answers ? 'leadsync is running, and cannot do all of its work: ' : '';
  const next = answers ? `${command('check')} tries what it needs.` : '';
  return unready.map((reason) => critical(null, `${before}${reason}`, next));
}

function staleness({ stale, now, command }: Circumstances): Trouble[] {
  if (!stale) return [];
  const since = `the file is not valid since ${printMomentAndAge(stale.since, now)}`;
  const faults = stale.faults.length > 0 ? `: ${stale.faults.slice(0, FAULTS_SAID).join('; ')}` : '.';
  return [
    warning(
      null,
      `leadsync keeps to an earlier configuration: ${since}${faults}`,
      `${command('validate')} shows every fault; ${command('reload')} takes it over once they are mended.`,
    ),
  ];
}

function restored({ restoredAt, now, command }: Circumstances): Trouble[] {
  if (!restoredAt || now.getTime() - restoredAt.getTime() > RESTORED_SAID_MS) return [];
  return [
    warning(
      null,
      `The ledger is a copy or was restored from a backup, as leadsync found ${printMomentAndAge(restoredAt, now)}: what was delivered after the backup was made may be delivered again, mostly under the same ids.`,
      `There is nothing to do. ${command('reconcile')} compares a sink with the ledger. This line goes after 3 days.`,
    ),
  ];
}

function sinkTroubles(sink: SinkView, given: Circumstances): Trouble[] {
  const { name, status } = sink;
  const { command } = given;
  const troubles = [...stateTroubles(sink, given), ...stuck(sink, given)];
  if (!status || status.dead === 0) return troubles;
  const next = `${command(`deliveries --sink ${name} --state dead`)} says why; ${command(`retry --sink ${name} --state dead`)} tries again, once the cause is mended.`;
  return [...troubles, critical(name, `${name}: ${countOf(status.dead, 'lead')} died.`, next)];
}

/** Why nothing goes out to a sink, and what to do; empty for one that is well. */
export function stateTroubles({ name, state, status }: SinkView, { now, command }: Told): Trouble[] {
  const waiting = status?.pending
    ? `${countOf(status.pending, 'lead')} ${status.pending === 1 ? 'waits' : 'wait'}`
    : 'nothing waits';
  const health = status?.health;
  switch (state) {
    case 'held':
      return [
        critical(
          name,
          `${name} is held since ${since(health?.heldSince, now)}: ${health?.heldReason ?? 'no reason was kept'}`,
          `Nothing is lost: ${waiting}. The next probe is ${health?.probeAt ? printAge(health.probeAt, now) : 'soon'}; ${command(`resume ${name}`)} tries now.`,
        ),
      ];
    case 'paused':
      return [
        warning(
          name,
          `${name} is paused since ${since(health?.pausedSince, now)}: ${health?.pausedReason ?? 'no reason was given'}`,
          `${waiting}. ${command(`resume ${name}`)} goes on.`,
        ),
      ];
    case 'retrying':
      return retrying(name, status, { now, command });
    case 'new':
      return [
        warning(
          name,
          `${name} is new: leads are owed to it from the next start on.`,
          `${command('run')} starts that.`,
        ),
      ];
    case 'orphaned':
      if (!status?.pending) return [];
      return [
        warning(
          name,
          `${name} is not in the configuration any more; ${waiting} in case it comes back.`,
          `${command(`forget ${name}`)} skips them for good; under another name it needs \`formerly: ${name}\`.`,
        ),
      ];
    case 'disabled':
      if (!status?.pending) return [];
      return [
        warning(
          name,
          `${name} is disabled in the configuration; ${waiting} until it is enabled.`,
          `Set \`enabled: true\`, and ${command('reload')} sends them.`,
        ),
      ];
    case 'healthy':
      return [];
  }
}

function retrying(name: string, status: SinkView['status'], { now, command }: Told): Trouble[] {
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
  return [warning(name, `${name}: ${leads}: ${reason}`, next)];
}

/** Leads that should have gone out by now, while nobody holds them back. */
function stuck({ name, state, config, status }: SinkView, given: Circumstances): Trouble[] {
  if ((state !== 'healthy' && state !== 'retrying') || !config || !status?.dueSince) return [];
  const graceMs = config.batch.waitMs + LATE_MS;
  const late = (at: Date | undefined) => at === undefined || given.now.getTime() - at.getTime() > graceMs;
  // A long backlog that drains is no fault.
  if (!late(status.dueSince) || !late(status.health.lastDeliveredAt)) return [];
  const leads = `${countOf(status.pending, 'lead')} ${status.pending === 1 ? 'waits' : 'wait'}`;
  const due = `due since ${printMomentAndAge(status.dueSince, given.now)}`;
  return [critical(name, `${name}: ${leads}, ${due}, and nothing goes out.`, likelyCause(given))];
}

function likelyCause({ running, queued, command }: Circumstances): string {
  if (!running) return `No leadsync is running: ${command('run')} starts it.`;
  if (!queued) return SEE_LOG;
  return `Redis may not answer (${command('check')} says so), or no ${command('worker')} is running beside a run --no-deliver.`;
}

function exportTroubles({ config: { name }, state }: ExportView, given: Circumstances): Trouble[] {
  const { failed, done } = state ?? {};
  if (!failed) return [];
  const { now, running, command } = given;
  const last = done ? `the last one is of ${printMomentAndAge(done.startedAt, now)}` : 'none was ever made';
  const times = failed.times === 1 ? 'failed' : `failed ${failed.times} times in a row`;
  const again = running && failed.retryAt > now ? `It is tried again ${printAge(failed.retryAt, now)}; ` : '';
  return [
    warning(
      name,
      `Export ${name} ${times}, and ${last}: ${failed.message}`,
      `${failed.hint} ${again}${command(`export --name ${name}`)} makes it now.`,
    ),
  ];
}

function since(at: Date | undefined, now: Date): string {
  return at ? printMomentAndAge(at, now) : 'an unknown time';
}
