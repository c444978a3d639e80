import { version } from '../../platform/process/version.ts';
import {
  printAge,
  printCount,
  printLength,
  printMoment,
  printSeconds,
} from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import type { SinkView, SourceView } from '../../status/status-view.ts';
import { fold, table } from '../shell/table.ts';
import { attentionLines, type ReportContext, type ToneLine } from './status-report.ts';
import type { Throughput } from './throughput.ts';
import { sinkStateCell } from './tones.ts';

/** The content of a frame. */
export interface FrameContent {
  /** The `name` of the configuration. */
  readonly installation: string | undefined;
  readonly sources: readonly SourceView[];
  readonly sinks: readonly SinkView[];
  readonly throughput: ReadonlyMap<string, Throughput>;
  readonly given: ReportContext;
  /** A note above the problems: why the content is out of date, or that the configuration has faults; undefined if neither applies. */
  readonly unread: string | undefined;
}

/** Returns a frame as lines: the problems, the sources, the sinks. Folds sentences to the width of the terminal. */
export function topFrame({
  installation,
  sources,
  sinks,
  throughput,
  given,
  unread,
}: FrameContent): string[] {
  const { now, running, columns, paint } = given;
  const state = running ? 'running' : paint('bad', 'NOT RUNNING');
  const note: ToneLine[] = unread ? [{ tone: 'warning', text: printable(unread) }] : [];
  const problems = [...note, ...attentionLines(sources, sinks, given)];
  return [
    `leadsync ${version}  ${installation === undefined ? '' : `${printable(installation)}  `}${state}  ${printMoment(now)}`,
    '',
    ...(problems.length === 0
      ? [paint('good', 'Nothing needs attention.')]
      : problems.flatMap(({ tone, text }) => folded(text, columns).map((line) => paint(tone, line)))),
    '',
    ...linesOf(sourceTable(sources, now, columns)),
    '',
    ...(sinks.length === 0 ? ['No sinks.'] : linesOf(sinkTable(sinks, throughput, given))),
  ];
}

/** Folds a line to the width of the terminal, and indents the continuation lines. */
function folded(line: string, columns: number | undefined): string[] {
  if (columns === undefined) return [line];
  const indent = /^ */.exec(line)?.[0] ?? '';
  return fold(line.trimStart(), columns - indent.length - 2).map(
    (part, at) => indent + (at === 0 ? part : `  ${part}`),
  );
}

function sourceTable(sources: readonly SourceView[], now: Date, room: number | undefined): string {
  const columns = [
    { head: 'SOURCE' },
    { head: 'LAST POLL' },
    { head: 'FRESHNESS', align: 'right' },
    { head: 'LISTED', align: 'right', dropOrder: 2 },
    { head: 'NEW', align: 'right', dropOrder: 1 },
  ] as const;
  const rows = sources.map(({ name, status }) => [
    printable(name),
    status?.lastPoll ? `${status.lastPoll.status}, ${printAge(status.lastPoll.startedAt, now)}` : 'never',
    age(status?.lastSuccessAt, now),
    count(status?.listed),
    count(status?.lastPoll?.new),
  ]);
  return table(columns, rows, room);
}

function sinkTable(
  sinks: readonly SinkView[],
  throughput: ReadonlyMap<string, Throughput>,
  { now, columns: room, paint }: ReportContext,
): string {
  const columns = [
    { head: 'SINK' },
    { head: 'STATE' },
    { head: 'PENDING', align: 'right' },
    { head: 'OLDEST', align: 'right' },
    { head: 'OUT/MIN', align: 'right' },
    { head: 'FAILED/MIN', align: 'right', dropOrder: 2 },
    { head: 'DEAD', align: 'right', dropOrder: 4 },
    { head: 'SPEED P50', align: 'right', dropOrder: 3 },
    { head: 'P95', align: 'right', dropOrder: 1 },
  ] as const;
  const rows = sinks.map(({ name, state, status }) => {
    const own = throughput.get(name);
    return [
      printable(name),
      sinkStateCell({ state, status }, paint),
      count(status?.pending),
      age(status?.oldestOwedAt, now),
      count(own?.deliveredPerMinute ?? 0),
      count(own?.failedPerMinute ?? 0),
      paint(status?.dead ? 'bad' : undefined, count(status?.dead)),
      seconds(own?.speedP50Ms),
      seconds(own?.speedP95Ms),
    ];
  });
  return table(columns, rows, room);
}

function linesOf(text: string): string[] {
  return text.trimEnd().split('\n');
}

function age(at: Date | undefined, now: Date): string {
  return at ? printLength(Math.max(0, now.getTime() - at.getTime())) : '-';
}

function seconds(ms: number | undefined): string {
  if (ms === undefined) return '-';
  return ms < 120_000 ? printSeconds(ms) : printLength(ms);
}

function count(n: number | undefined): string {
  return n === undefined ? '-' : printCount(n);
}
