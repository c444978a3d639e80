import { html } from 'htm/preact';
import { LOG_COLUMNS, LogFilter, type LogLine } from '../contract/log.ts';
import type { Page, PageRequest } from '../contract/operations.ts';
import { type Field, sourceField } from './lists/filters.ts';
import { addList } from './lists/list-page.ts';
import { emptyText } from './lists/pager.ts';
import { badge } from './parts/badge.ts';
import { withLineBreaks, withUnitsKept } from './parts/line-breaks.ts';
import type { AddPage, Site } from './parts/site.ts';
import { type Column, table } from './parts/table.ts';
import { moment } from './parts/time-element.ts';
import { sourcesOf } from './sources/source-state.ts';

/** Adds the page with the last lines of the log. */
export const addLog: AddPage = (app, site) => {
  addList(app, site, '/log', 'log', async () => ({
    name: 'Log',
    path: '/log',
    noun: 'line',
    fields: await fieldsFor(site),
    schema: LogFilter,
    rows: async (filter, page) => pageOf(keyed(await site.operations.log(filter)), page),
    count: async (filter) => ({ count: (await site.operations.log(filter)).length, isAtLeast: false }),
    columns: LOG_COLUMNS,
    body: (filtered, lines) => [
      html`<div class="lines">${table({
        name: 'Log',
        columns,
        rows: lines.rows,
        key: ({ key }) => key,
        empty: emptyText(filtered, lines, words),
      })}</div>`,
      html`<p class="hint">The last lines that this process has written since it started: warnings and errors, and apart from them all others, so that routine lines do not push out the start of an incident. The log itself goes to standard error.</p>`,
    ],
  }));
};

/** Returns the fields of the filter. The events to choose from are those of the kept lines. */
async function fieldsFor(site: Site): Promise<readonly Field[]> {
  const [{ sources }, sinks, lines] = await Promise.all([
    sourcesOf(site),
    site.operations.sinks().catch(() => []),
    site.operations.log({}),
  ]);
  const events = [...new Set(lines.map(({ event }) => event))].sort();
  return [
    levelField,
    { name: 'event', label: 'Event', choices: events.map((event) => [event, event] as const) },
    sourceField(sources),
    { name: 'sink', label: 'Sink', choices: sinks.map(({ sink }) => [sink, sink] as const) },
    { name: 'text', label: 'Text in the message' },
  ];
}

const levelField: Field = {
  name: 'level',
  label: 'Minimum level',
  choices: [
    ['info', 'information'],
    ['warn', 'warnings'],
    ['error', 'errors'],
  ],
};

const words = { noMatch: 'No kept line matches.', noneYet: 'No line has been written yet.' };

type Row = LogLine & { readonly key: string };

const columns: readonly Column<Row>[] = [
  { label: 'Time', of: ({ at }) => moment(at) },
  { label: 'Level', of: ({ level }) => badge(level) },
  { label: 'Event', of: ({ event }) => html`<span class="nowrap">${event}</span>` },
  {
    label: 'Message',
    of: ({ message }) => html`<bdi>${withLineBreaks(withUnitsKept(message))}</bdi>`,
    text: true,
  },
];

/**
 * Returns the lines that follow the one whose key is the cursor. Returns no lines if that line is no longer kept, because the older ones were
 * removed before it.
 */
function pageOf(lines: readonly Row[], { limit, after }: PageRequest): Page<Row> {
  const at = after === undefined ? -1 : lines.findIndex(({ key }) => key === after);
  const start = after !== undefined && at < 0 ? lines.length : at + 1;
  const rows = lines.slice(start, start + limit);
  return { rows, next: start + limit < lines.length ? (rows.at(-1)?.key ?? null) : null };
}

/** Returns the lines, each with a key that stays the same when newer lines arrive: lines with the same time are counted from the oldest. */
function keyed(lines: readonly LogLine[]): readonly Row[] {
  const counts = new Map<string, number>();
  return lines
    .toReversed()
    .map((line) => {
      const count = (counts.get(line.at) ?? 0) + 1;
      counts.set(line.at, count);
      return { ...line, key: `line-${Date.parse(line.at)}-${count}` };
    })
    .toReversed();
}
