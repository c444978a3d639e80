import { nextPollAfter } from '../daemon/next-poll.ts';
import type { ShowCommand } from './context.ts';
import { countOf } from './counts.ts';
import { printAge, printLength, printMoment, printMomentAndAge } from './moment.ts';
import { printable } from './printable.ts';
import type { SinkView, SourceView } from './status-view.ts';
import { table } from './table.ts';

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
  /** How a command is shown that is the next step. */
  readonly command: ShowCommand;
  /** Columns of the terminal; undefined where there is none, and lines may be as long as they like. */
  readonly columns: number | undefined;
}

/** How long after its time a poll or a delivery is still not late, in ms: starting it takes a moment. */
const LATE_MS = 60_000;
/** A listing may be read for this long (the default `deadline`, and a little), in ms. */
const LONGEST_POLL_MS = 15 * 60_000;
/** A service may ask to be left alone for an hour, in ms. */
const LATE_AFTER_FAILURE_MS = 75 * 60_000;

/** Sources and sinks as two tables, with what needs somebody's attention below, each with the next step. */
export function statusReport(
  sources: readonly SourceView[],
  sinks: readonly SinkView[],
  given: Circumstances,
): string {
  const attention = attentionLines(sources, sinks, given);
  const nothing =
    sinks.length === 0 ? 'No sinks: leads are remembered, and go nowhere.\n' : sinkTable(sinks, given);
  const all = attention.length === 0 ? ['Nothing needs attention.'] : attention;
  return `${sourceTable(sources, given)}\n${nothing}\n${all.map((line) => `${line}\n`).join('')}`;
}

/** What needs somebody's attention, in words, each with the next step. */
export function attentionLines(
  sources: readonly SourceView[],
  sinks: readonly SinkView[],
  given: Circumstances,
): string[] {
  return [
    ...(given.running ? notReady(given) : [notRunning(given)]),
    ...staleness(given),
    ...sources.flatMap((source) => sourceAttention(source, given)),
    ...sinks.flatMap((sink) => sinkAttention(sink, given)),
  ];
}

function notRunning({ command }: Circumstances): string {
  return `No leadsync is running on this data directory: nothing is polled, and nothing delivered. ${command('run')} starts it.`;
}

function notReady({ answers, unready }: Circumstances): string[] {
  const before = answers ? 'leadsync is running, and cannot do all of its work: ' : '';
  return unready.map((reason) => `${before}${printable(reason)}`);
}

function staleness({ stale, now, command }: Circumstances): string[] {
  if (!stale) return [];
  return [
    `leadsync keeps to an earlier configuration: the file is not valid since ${printMomentAndAge(stale.since, now)}.`,
    ...stale.faults.slice(0, 3).map((fault) => `  ${printable(fault)}`),
    `  ${command('validate')} shows every fault; ${command('reload')} takes it over once they are mended.`,
  ];
}

function sourceTable(sources: readonly SourceView[], { now, columns: width }: Circumstances): string {
  const columns = [
    { head: 'SOURCE' },
    { head: 'LEADS', align: 'right' },
    { head: 'LISTED', align: 'right', spare: 2 },
    { head: 'REJECTED', align: 'right', spare: 1 },
    { head: 'COMPLETE LISTING' },
    { head: 'LAST POLL', spare: 3 },
  ] as const;
  const rows = sources.map(({ name, status }) => [
    name,
    count(status?.leads),
    count(status?.listed),
    count(status?.rejected),
    status?.lastSuccessAt ? printAge(status.lastSuccessAt, now) : 'never',
    status?.lastPoll
      ? `${status.lastPoll.status}, ${printMomentAndAge(status.lastPoll.startedAt, now)}`
      : 'never',
  ]);
  return table(columns, rows, width);
}

function sinkTable(sinks: readonly SinkView[], { now, columns: width }: Circumstances): string {
  const columns = [
    { head: 'SINK' },
    { head: 'TYPE', spare: 2 },
    { head: 'STATE' },
    { head: 'DELIVERED', align: 'right' },
    { head: 'PENDING', align: 'right' },
    { head: 'DEAD', align: 'right' },
    { head: 'SKIPPED', align: 'right', spare: 3 },
    { head: 'OLDEST PENDING', spare: 1 },
    { head: 'LAST DELIVERED', spare: 4 },
  ] as const;
  const rows = sinks.map(({ name, state, config, status }) => [
    name,
    config?.type.type ?? '-',
    state,
    ...[status?.delivered, status?.pending, status?.dead, status?.skipped].map(count),
    status?.oldestOwedAt ? printLength(now.getTime() - status.oldestOwedAt.getTime()) : '-',
    status?.health.lastDeliveredAt ? printMomentAndAge(status.health.lastDeliveredAt, now) : 'never',
  ]);
  return table(columns, rows, width);
}

function sourceAttention(source: SourceView, given: Circumstances): string[] {
  const { name, config, status } = source;
  const { command } = given;
  if (!config) return [`${name} is not in the configuration any more: it is not polled.`];
  if (!status?.lastPoll) return [`${name} was never polled: ${command('run')} starts that.`];
  const lines = [...failedPoll(source, given), ...latePoll(source, given)];
  if (status.rejected > 0) {
    lines.push(
      `${name}: ${countOf(status.rejected, 'lead')} of the last complete listing broke the service's description and ${status.rejected === 1 ? 'was' : 'were'} set aside.`,
      `  ${command('trace LEAD')} says why, and so does the table rejected_leads of the ledger. Each comes in when it comes right.`,
    );
  }
  return lines;
}

function failedPoll({ name, status }: SourceView, { running, command }: Circumstances): string[] {
  const poll = status?.lastPoll;
  if (poll?.status !== 'failed' && poll?.status !== 'partial') return [];
  // The ledger keeps a code before the sentence, for queries.
  const why = poll.error?.replace(/^[a-z-]+: /, '') ?? 'no reason was kept';
  const byItself = running ? 'leadsync tries again by itself; ' : '';
  return [
    `${name}: the last poll ${poll.status === 'failed' ? 'failed' : 'broke off'}: ${printable(why)}`,
    `  ${byItself}${command('check')} tries now.`,
  ];
}

function latePoll({ name, config, status }: SourceView, { now, running }: Circumstances): string[] {
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
  return [
    `${name} is polled ${when}, and was last polled ${printMomentAndAge(poll.startedAt, now)}: see what leadsync logs.`,
  ];
}

/** How late the next poll may be because of this one, in ms. */
function roomOf(status: string): number {
  if (status === 'running') return LONGEST_POLL_MS;
  return status === 'failed' || status === 'partial' ? LATE_AFTER_FAILURE_MS : 0;
}

function sinkAttention(sink: SinkView, given: Circumstances): string[] {
  const { name, status } = sink;
  const { command } = given;
  const lines = [...stateAttention(sink, given), ...stuck(sink, given)];
  if (status && status.dead > 0) {
    lines.push(
      `${name}: ${countOf(status.dead, 'lead')} died. ${command(`deliveries --sink ${name} --state dead`)} says why;`,
      `  ${command(`retry --sink ${name} --state dead`)} tries again, once the cause is mended.`,
    );
  }
  return lines;
}

/** Why nothing goes out to a sink, and what to do; empty for one that is well. */
export function stateAttention(
  { name, state, status }: SinkView,
  { now, command }: Pick<Circumstances, 'now' | 'command'>,
): string[] {
  const waiting = status?.pending
    ? `${countOf(status.pending, 'lead')} ${status.pending === 1 ? 'waits' : 'wait'}`
    : 'nothing waits';
  const health = status?.health;
  switch (state) {
    case 'held':
      return [
        `${name} is held since ${since(health?.heldSince, now)}: ${printable(health?.heldReason ?? 'no reason was kept')}`,
        `  Nothing is lost: ${waiting}. The next try is ${health?.probeAt ? printAge(health.probeAt, now) : 'soon'}; ${command(`resume ${name}`)} tries now.`,
      ];
    case 'paused':
      return [
        `${name} is paused since ${since(health?.pausedSince, now)}: ${printable(health?.pausedReason ?? 'no reason was given')}`,
        `  ${waiting}. ${command(`resume ${name}`)} goes on.`,
      ];
    case 'retrying':
      return retryAttention(name, status, { now, command });
    case 'new':
      return [`${name} is new: leads are owed to it from the next ${command('run')} on.`];
    case 'removed':
      return status?.pending
        ? [
            `${name} is not in the configuration any more; ${waiting} in case it comes back.`,
            `  ${command(`forget ${name}`)} skips them for good; under another name it needs \`formerly: ${name}\`.`,
          ]
        : [];
    case 'disabled':
      return status?.pending
        ? [`${name} is disabled in the configuration; ${waiting} until it is enabled.`]
        : [];
    case 'ok':
      return [];
  }
}

function retryAttention(
  name: string,
  status: SinkView['status'],
  { now, command }: Pick<Circumstances, 'now' | 'command'>,
): string[] {
  if (!status?.retrying) return [];
  const { deliveries, reason, nextAttemptAt } = status.retrying;
  const next =
    nextAttemptAt > now
      ? `The next attempt is ${printAge(nextAttemptAt, now)}; ${command(`retry --sink ${name} --state pending`)} makes all of them due now.`
      : `The next attempt is due since ${printMoment(nextAttemptAt)}.`;
  return [
    `${name}: ${countOf(deliveries, 'lead')} failed and ${deliveries === 1 ? 'is' : 'are'} tried again: ${printable(reason)}`,
    `  ${next}`,
  ];
}

/** Leads that should have gone out by now, while nobody holds them back. */
function stuck({ name, state, config, status }: SinkView, given: Circumstances): string[] {
  if ((state !== 'ok' && state !== 'retrying') || !config || !status?.dueSince) return [];
  const graceMs = config.batch.waitMs + LATE_MS;
  const late = (at: Date | undefined) => at === undefined || given.now.getTime() - at.getTime() > graceMs;
  // A long backlog that drains is no fault.
  if (!late(status.dueSince) || !late(status.health.lastDeliveredAt)) return [];
  const leads = `${countOf(status.pending, 'lead')} ${status.pending === 1 ? 'waits' : 'wait'}`;
  return [
    `${name}: ${leads}, due since ${printMomentAndAge(status.dueSince, given.now)}, and nothing goes out: ${likelyCause(given)}`,
  ];
}

function likelyCause({ running, queued, command }: Circumstances): string {
  if (!running) return 'no leadsync is running.';
  if (!queued) return 'see what leadsync logs.';
  return `Redis may not answer (${command('check')} says so), or no ${command('worker')} is running beside a run --no-deliver.`;
}

function since(at: Date | undefined, now: Date): string {
  return at ? printMomentAndAge(at, now) : 'an unknown time';
}

function count(n: number | undefined): string {
  return n === undefined ? '-' : n.toLocaleString('en');
}
