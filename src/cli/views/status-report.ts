import { isBackup } from '../../exports/contract/options.ts';
import {
  countOf,
  isDueNow,
  printAge,
  printBytes,
  printCount,
  printLength,
  printMoment,
  printMomentAndAge,
} from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import type { ExportView } from '../../status/export-view.ts';
import { nextPollAt } from '../../status/next-poll.ts';
import { findProblems } from '../../status/problems/find-problems.ts';
import type { Problem, ProblemContext } from '../../status/problems/problem.ts';
import type { SinkView, SourceView } from '../../status/status-view.ts';
import type { Paint, Tone } from '../shell/colour.ts';
import { table } from '../shell/table.ts';
import { machineTable } from './machine-table.ts';
import { sinkNotes } from './sink-notes.ts';
import { sinkStateCell } from './tones.ts';

/** Maximum number of names that the report lists for one problem, in addition to the name in its message. */
const MAX_NAMES = 10;

/** Width of a terminal, in columns, below which the table of sinks shows the age of a moment without its date. */
const NARROW = 110;

/** Facts for a report that are not in the ledger, and the width of the terminal. */
export interface ReportContext extends ProblemContext {
  /** Width of the terminal, in columns; undefined without a terminal, where lines may have any length. */
  readonly columns: number | undefined;
  readonly paint: Paint;
  /** The faults of the configuration file, each with its position. */
  readonly faults?: readonly string[];
}

/** Returns tables of sources, sinks and exports, followed by each problem and its next step. */
export function statusReport(
  sources: readonly SourceView[],
  sinks: readonly SinkView[],
  given: ReportContext,
): string {
  const attention = attentionLines(sources, sinks, given).map(({ tone, text }) => given.paint(tone, text));
  const nothing =
    sinks.length === 0 ? 'No sinks: leads are recorded, but not delivered.\n' : sinkTable(sinks, given);
  const all = attention.length === 0 ? [given.paint('good', 'Nothing needs attention.')] : attention;
  const lines = [...all, ...sinks.flatMap((sink) => sinkNotes(sink, given)), ...faultLines(given)];
  return `${sourceTable(sources, given)}\n${nothing}\n${exportTable(given)}${backupTable(given)}${machineTable(given.machines, given.now, given.columns)}${lines.map((line) => `${line}\n`).join('')}`;
}

function faultLines({ faults = [], running, command }: ReportContext): string[] {
  if (faults.length === 0) return [];
  const meanwhile = running
    ? 'The running leadsync keeps its last valid configuration'
    : 'leadsync does not start with it';
  return [
    '',
    `The configuration has ${countOf(faults.length, 'fault')}. ${meanwhile}; ${command('validate')} checks it.`,
    ...faults,
  ];
}

/** A line of a report, and the tone of its text; undefined for a line without a colour. */
export interface ToneLine {
  readonly tone: Tone | undefined;
  readonly text: string;
}

/** Returns the lines for each problem, followed by its next step. Merges problems that differ only in the name. */
export function attentionLines(
  sources: readonly SourceView[],
  sinks: readonly SinkView[],
  given: ProblemContext,
): ToneLine[] {
  const alike = Map.groupBy(findProblems(sources, sinks, given), withoutName);
  return [...alike.values()].flatMap(([first, ...others]) => {
    const [message = '', ...nextStep] = first ? problemLines(first) : [];
    const tone = first?.severity === 'critical' ? 'bad' : 'warning';
    const more = [...othersLine(others), ...nextStep].map((text) => ({ tone: undefined, text }));
    return [{ tone, text: message }, ...more];
  });
}

/** Returns a problem's text without the name. The result is the same for all sources or sinks with the same problem. */
function withoutName({ about, message, nextStep }: Problem): string {
  const text = `${message}\n${nextStep}`;
  return about === null ? text : text.replaceAll(about, '\0');
}

function othersLine(others: readonly Problem[]): string[] {
  const names = others.flatMap(({ about }) => about ?? []);
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMES ? ` and ${countOf(names.length - MAX_NAMES, 'other')}` : '';
  return [`  The same is true of ${printable(names.slice(0, MAX_NAMES).join(', '))}${more}.`];
}

/** Returns a problem on one line, and its next step on another. */
export function problemLines({ message, nextStep }: Problem): string[] {
  return [printable(message), ...(nextStep ? [`  ${printable(nextStep)}`] : [])];
}

function sourceTable(
  sources: readonly SourceView[],
  { now, running, columns: width }: ReportContext,
): string {
  const columns = [
    { head: 'SOURCE' },
    { head: 'LEADS', align: 'right' },
    { head: 'LISTED', align: 'right', dropOrder: 2 },
    { head: 'REJECTED', align: 'right', dropOrder: 1 },
    { head: 'COMPLETE LISTING' },
    { head: 'LAST POLL', dropOrder: 3 },
    { head: 'NEXT POLL', dropOrder: 4 },
  ] as const;
  const rows = sources.map((source) => {
    const { name, status } = source;
    const last = status?.lastPoll;
    return [
      name,
      count(status?.leads),
      count(status?.listed),
      count(status?.rejected),
      status?.lastSuccessAt ? printAge(status.lastSuccessAt, now) : 'never',
      last ? `${last.status}, ${printMomentAndAge(last.startedAt, now)}` : 'never',
      running ? nextPoll(source, now) : '-',
    ];
  });
  return table(columns, rows, width);
}

function nextPoll(source: SourceView, now: Date): string {
  const at = nextPollAt(source);
  // Only the running leadsync knows when it retries.
  if (!at) return source.status?.lastPoll?.status === 'failed' ? 'retrying' : '-';
  return isDueNow(at, now) ? 'due' : printAge(at, now);
}

function sinkTable(sinks: readonly SinkView[], { now, paint, columns: width }: ReportContext): string {
  const isNarrow = width !== undefined && width < NARROW;
  const moment = (at: Date) => (isNarrow ? printAge(at, now) : printMomentAndAge(at, now));
  const columns = [
    { head: 'SINK' },
    { head: 'TYPE', dropOrder: 2 },
    { head: 'STATE' },
    { head: 'DELIVERED', align: 'right' },
    { head: 'PENDING', align: 'right' },
    { head: 'DEAD', align: 'right' },
    { head: 'SKIPPED', align: 'right', dropOrder: 3 },
    { head: 'OLDEST PENDING', dropOrder: 1 },
    { head: 'LAST DELIVERED', dropOrder: 4 },
  ] as const;
  const rows = sinks.map(({ name, state, config, status }) => [
    name,
    config?.type.type ?? '-',
    sinkStateCell({ state, status }, paint),
    ...[status?.delivered, status?.pending].map(count),
    paint(status?.dead ? 'bad' : undefined, count(status?.dead)),
    count(status?.skipped),
    status?.oldestOwedAt ? printLength(now.getTime() - status.oldestOwedAt.getTime()) : '-',
    status?.health.lastDeliveredAt ? moment(status.health.lastDeliveredAt) : 'never',
  ]);
  return table(columns, rows, width);
}

/** Returns the table of exports; an empty string if no export is configured. */
function exportTable({ exports: files, now, columns: width }: ReportContext): string {
  const exports = files.filter(({ config }) => !isBackup(config));
  if (exports.length === 0) return '';
  const columns = [
    { head: 'EXPORT' },
    { head: 'ROWS', align: 'right', dropOrder: 1 },
    { head: 'LAST EXPORT' },
    { head: 'NEXT', dropOrder: 2 },
    { head: 'OUTPUT', dropOrder: 3 },
  ] as const;
  const rows = exports.map((view) => [
    view.config.name,
    count(view.state?.done?.rows),
    view.state?.done ? printMomentAndAge(view.state.done.startedAt, now) : 'never',
    nextRun(view, now),
    view.state?.done ? printable(view.state.done.place) : '-',
  ]);
  return `${table(columns, rows, width)}\n`;
}

/** Returns the table of backups; an empty string if no backup is configured. */
function backupTable({ exports: files, now, columns: width }: ReportContext): string {
  const backups = files.filter(({ config }) => isBackup(config));
  if (backups.length === 0) return '';
  const columns = [
    { head: 'BACKUP' },
    { head: 'LEADS', align: 'right', dropOrder: 1 },
    { head: 'SIZE', align: 'right', dropOrder: 4 },
    { head: 'LAST BACKUP' },
    { head: 'NEXT', dropOrder: 2 },
    { head: 'FILE', dropOrder: 3 },
  ] as const;
  const rows = backups.map((view) => {
    const { config, state } = view;
    return [
      config.name,
      count(state?.done?.rows),
      state?.done ? printBytes(state.done.bytes) : '-',
      state?.done ? printMomentAndAge(state.done.startedAt, now) : 'never',
      nextRun(view, now),
      state?.done ? printable(state.done.place) : '-',
    ];
  });
  return `${table(columns, rows, width)}\n`;
}

function nextRun({ dueAt, running }: ExportView, now: Date): string {
  if (running) return 'running';
  if (!dueAt) return '-';
  return dueAt > now ? printMoment(dueAt) : 'due';
}

function count(n: number | undefined): string {
  return n === undefined ? '-' : printCount(n);
}
