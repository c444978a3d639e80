import { countOf, printAge, printLength, printMoment, printMomentAndAge } from '../platform/in-words.ts';
import { NEEDS_SOMEBODY } from '../telemetry/events.ts';
import type { ExportView } from './exporting.ts';
import { nextPollAfter } from './next-poll.ts';
import { readPollError } from './poll-error.ts';
import type { SinkView, SourceView } from './status-view.ts';

/**
 * A thing that is wrong, in whole sentences, with what to do next; `about` names the source, sink or export, or is null. Texts from
 * outside are in it as they came: whoever shows it makes it safe for where it is shown.
 */
export interface Trouble {
  readonly severity: 'warning' | 'critical';
  readonly about: string | null;
  readonly what: string;
  readonly next: string;
}

/** What is known beside the ledger. */
export interface Circumstances {
  readonly now: Date;
  /** A `run` or `sync` holds the data directory. */
  readonly running: boolean;
  /** Whether the running leadsync answers, where it can be asked. */
  readonly answers: boolean;
  /** Why the running leadsync cannot do its work, as it says itself; when it does not answer, that it does not. */
  readonly unready: readonly string[];
  /** It keeps to an earlier configuration: since when the file is not valid, and each fault. */
  readonly stale: { readonly since: Date; readonly faults: readonly string[] } | undefined;
  /** Deliveries travel through Redis, or may do so. */
  readonly queued: boolean;
  readonly exports: readonly ExportView[];
  /** How a command is shown that is the next step, from its words: `status`. */
  readonly command: (words: string) => string;
}

type Told = Pick<Circumstances, 'now' | 'command'>;

/** How long after its time a poll or a delivery is still not late, in ms: starting it takes a moment. */
const LATE_MS = 60_000;
/** A listing may be read for this long (the default `deadline`, and a little), in ms. */
const LONGEST_POLL_MS = 15 * 60_000;
/** A service may ask to be left alone for an hour, in ms. */
const LATE_AFTER_FAILURE_MS = 75 * 60_000;
const URGENCY = { critical: 0, warning: 1 } as const;
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

function sourceTroubles(source: SourceView, given: Circumstances): Trouble[] {
  const { name, config, status, unread } = source;
  const { command } = given;
  if (!config && !unread)
    return [
      warning(
        name,
        `${name} is not in the configuration any more: it is not polled.`,
        'Put it back to poll it again; its leads stay in the ledger either way.',
      ),
    ];
  if (!status?.lastPoll)
    return [warning(name, `${name} was never polled.`, `${command('run')} starts that.`)];
  return [
    ...failedPoll(source, given),
    ...latePoll(source, given),
    ...setAside(name, status.rejected, command),
  ];
}

function failedPoll({ name, status }: SourceView, { running, command }: Circumstances): Trouble[] {
  const poll = status?.lastPoll;
  if (poll?.status !== 'failed' && poll?.status !== 'partial') return [];
  const { code = '', reason } = readPollError(poll.error ?? 'no reason was kept');
  const byItself = running ? 'leadsync tries again by itself; ' : '';
  const login =
    code === 'credentials' ? `, or ${command(`login ${name}`)} if a person has to log in again` : '';
  const before = NEEDS_SOMEBODY.has(code)
    ? `Waiting does not mend this: correct what it names, then ${command('reload')}${login}; `
    : byItself;
  const how = poll.status === 'failed' ? 'failed' : 'broke off';
  return [
    critical(name, `${name}: the last poll ${how}: ${reason}`, `${before}${command('check')} tries now.`),
  ];
}

function latePoll({ name, config, status }: SourceView, { now, running }: Circumstances): Trouble[] {
  const poll = status?.lastPoll;
  if (!running || !config || !poll) return []; // when nothing runs, that is said once
  const { poll: schedule } = config;
  const graceMs = 'everyMs' in schedule ? schedule.everyMs + LATE_MS : 2 * LATE_MS;
  const until = new Date(now.getTime() - Math.max(graceMs, roomOf(poll.status)));
  if (nextPollAfter(schedule, poll.startedAt, until) === undefined) return [];
  const when =
    'everyMs' in schedule
      ? `every ${printLength(schedule.everyMs)}`
      : `by cron ${JSON.stringify(schedule.cron)}${schedule.timezone ? ` (${schedule.timezone})` : ''}`;
  const last = printMomentAndAge(poll.startedAt, now);
  return [critical(name, `${name} is polled ${when}, and was last polled ${last}.`, SEE_LOG)];
}

/** How late the next poll may be because of this one, in ms. */
function roomOf(status: string): number {
  if (status === 'running') return LONGEST_POLL_MS;
  return status === 'failed' || status === 'partial' ? LATE_AFTER_FAILURE_MS : 0;
}

function setAside(name: string, rejected: number, command: Circumstances['command']): Trouble[] {
  if (rejected === 0) return [];
  const leads = `${countOf(rejected, 'lead')} of the last complete listing`;
  return [
    warning(
      name,
      `${name}: ${leads} broke the service's description and ${rejected === 1 ? 'was' : 'were'} set aside.`,
      `${command('trace LEAD')} says why, and so does the table rejected_leads of the ledger. Each comes in when it comes right.`,
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
  const { deliveries, reason, nextAttemptAt } = status.retrying;
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

const SEE_LOG = 'See what leadsync logs.';

function since(at: Date | undefined, now: Date): string {
  return at ? printMomentAndAge(at, now) : 'an unknown time';
}

function critical(about: string | null, what: string, next: string): Trouble {
  return { severity: 'critical', about, what, next };
}

function warning(about: string | null, what: string, next: string): Trouble {
  return { severity: 'warning', about, what, next };
}
