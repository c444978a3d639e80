import { countOf } from './counts.ts';
import { printAge, printLength, printMomentAndAge } from './moment.ts';
import { printable } from './printable.ts';
import type { SinkView, SourceView } from './status-view.ts';
import { table } from './table.ts';

/** A poll is late when its turn was missed by this much, in ms: longer than a listing or a back-off takes. */
const LATE_MS = 15 * 60_000;
/** A service may ask to be left alone for an hour. */
const LATE_AFTER_FAILURE_MS = 75 * 60_000;

const REJECTED_HINT =
  '  `leadsync trace LEAD` says why, and so does the table rejected_leads of the ledger. Each comes in when it comes right.';

/** Sources and sinks as two tables, with what needs somebody's attention below, each with the next step. */
export function statusReport(sources: readonly SourceView[], sinks: readonly SinkView[], now: Date): string {
  const attention = [
    ...sources.flatMap((source) => sourceAttention(source, now)),
    ...sinks.flatMap((sink) => sinkAttention(sink, now)),
  ];
  const nothing =
    sinks.length === 0 ? 'No sinks: leads are remembered, and go nowhere.\n' : sinkTable(sinks, now);
  const all = attention.length === 0 ? ['Nothing needs attention.'] : attention;
  return `${sourceTable(sources, now)}\n${nothing}\n${all.map((line) => `${line}\n`).join('')}`;
}

function sourceTable(sources: readonly SourceView[], now: Date): string {
  const columns = [
    { head: 'SOURCE' },
    { head: 'LEADS', align: 'right' },
    { head: 'LISTED', align: 'right' },
    { head: 'REJECTED', align: 'right' },
    { head: 'COMPLETE LISTING' },
    { head: 'LAST POLL' },
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
  return table(columns, rows);
}

function sinkTable(sinks: readonly SinkView[], now: Date): string {
  const columns = [
    { head: 'SINK' },
    { head: 'TYPE' },
    { head: 'STATE' },
    { head: 'DELIVERED', align: 'right' },
    { head: 'PENDING', align: 'right' },
    { head: 'DEAD', align: 'right' },
    { head: 'SKIPPED', align: 'right' },
    { head: 'OLDEST PENDING' },
    { head: 'LAST DELIVERED' },
  ] as const;
  const rows = sinks.map(({ name, state, config, status }) => [
    name,
    config?.type.type ?? '-',
    state,
    ...[status?.delivered, status?.pending, status?.dead, status?.skipped].map(count),
    status?.oldestOwedAt ? printLength(now.getTime() - status.oldestOwedAt.getTime()) : '-',
    status?.health.lastDeliveredAt ? printMomentAndAge(status.health.lastDeliveredAt, now) : 'never',
  ]);
  return table(columns, rows);
}

function sourceAttention({ name, config, status }: SourceView, now: Date): string[] {
  const poll = status?.lastPoll;
  if (!config) return [`${name} is not in the configuration any more: it is not polled.`];
  if (!poll) return [`${name} was never polled: \`leadsync run\` starts that.`];
  const lines: string[] = [];
  const failed = poll.status === 'failed' || poll.status === 'partial';
  if (failed) {
    lines.push(
      `${name}: the last poll ${poll.status === 'failed' ? 'failed' : 'broke off'}: ${printable(poll.error ?? 'no reason was kept')}`,
    );
    lines.push('  leadsync tries again by itself; `leadsync check` tries now.');
  }
  const late = failed ? LATE_AFTER_FAILURE_MS : LATE_MS;
  if ('everyMs' in config.poll && now.getTime() - poll.startedAt.getTime() > late + config.poll.everyMs) {
    lines.push(
      `${name} is polled every ${printLength(config.poll.everyMs)}, and was last polled ${printAge(poll.startedAt, now)}: is \`leadsync run\` running?`,
    );
  }
  if (status.rejected > 0) {
    lines.push(
      `${name}: ${countOf(status.rejected, 'lead')} of the last complete listing broke the service's description and ${status.rejected === 1 ? 'was' : 'were'} set aside.`,
    );
    lines.push(REJECTED_HINT);
  }
  return lines;
}

function sinkAttention(sink: SinkView, now: Date): string[] {
  const { name, status } = sink;
  const lines = stateAttention(sink, now);
  if (status && status.dead > 0) {
    lines.push(
      `${name}: ${countOf(status.dead, 'lead')} died. \`leadsync deliveries --sink ${name} --state dead\` says why;`,
    );
    lines.push(`  \`leadsync retry --sink ${name} --state dead\` tries again, once the cause is mended.`);
  }
  return lines;
}

/** Why nothing goes out to a sink, and what to do; empty for one that is well. */
export function stateAttention({ name, state, status }: SinkView, now: Date): string[] {
  const waiting = status?.pending
    ? `${countOf(status.pending, 'lead')} ${status.pending === 1 ? 'waits' : 'wait'}`
    : 'nothing waits';
  const health = status?.health;
  switch (state) {
    case 'held':
      return [
        `${name} is held since ${since(health?.heldSince, now)}: ${printable(health?.heldReason ?? 'no reason was kept')}`,
        `  Nothing is lost: ${waiting}. The next try is ${health?.probeAt ? printAge(health.probeAt, now) : 'soon'}; \`leadsync resume ${name}\` tries now.`,
      ];
    case 'paused':
      return [
        `${name} is paused since ${since(health?.pausedSince, now)}: ${printable(health?.pausedReason ?? 'no reason was given')}`,
        `  ${waiting}. \`leadsync resume ${name}\` goes on.`,
      ];
    case 'new':
      return [`${name} is new: leads are owed to it from the next \`leadsync run\` on.`];
    case 'removed':
      return status?.pending
        ? [`${name} is not in the configuration any more; ${waiting} in case it comes back.`]
        : [];
    case 'disabled':
      return status?.pending
        ? [`${name} is disabled in the configuration; ${waiting} until it is enabled.`]
        : [];
    case 'ok':
      return [];
  }
}

function since(at: Date | undefined, now: Date): string {
  return at ? printMomentAndAge(at, now) : 'an unknown time';
}

function count(n: number | undefined): string {
  return n === undefined ? '-' : n.toLocaleString('en');
}
