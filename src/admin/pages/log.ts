import { html } from 'htm/preact';
import { LOG_COLUMNS, LogFilter, type LogLine } from '../contract/log.ts';
import type { Page, PageRequest } from '../contract/operations.ts';
import type { Field } from './lists/filters.ts';
import { addList } from './lists/list-page.ts';
import { emptyText } from './lists/pager.ts';
import { badge } from './parts/badge.ts';
import { withLineBreaks } from './parts/line-breaks.ts';
import type { AddPage } from './parts/site.ts';
import { type Column, table } from './parts/table.ts';
import { moment } from './parts/time-element.ts';

/** Adds the page with the last lines of the log. */
export const addLog: AddPage = (app, site) => {
  addList(app, site, '/log', 'log', () => ({
    name: 'Log',
    path: '/log',
    noun: 'line',
    fields,
    schema: LogFilter,
    rows: async (filter, page) => pageOf(keyed(await site.operations.log(filter)), page),
    count: async (filter) => (await site.operations.log(filter)).length,
    columns: LOG_COLUMNS,
    body: (filtered, lines) => [
      html`<div class="lines">${table({
        name: 'Log',
        columns,
        rows: lines.rows,
        key: ({ key }) => key,
        empty: emptyText(filtered, lines, words),
      })}</div>`,
      html`<p class="hint">The last lines that this process has written since it started. The log itself goes to standard error.</p>`,
    ],
  }));
};

const fields: readonly Field[] = [
  {
    name: 'level',
    label: 'Minimum level',
    choices: [
      ['info', 'information'],
      ['warn', 'warnings'],
      ['error', 'errors'],
    ],
  },
];

const words = { noMatch: 'No line has this level.', noneYet: 'No line has been written yet.' };

type Row = LogLine & { readonly key: string };

const columns: readonly Column<Row>[] = [
  { label: 'Time', of: ({ at }) => moment(at) },
  { label: 'Level', of: ({ level }) => badge(level) },
  { label: 'Event', of: ({ event }) => event },
  { label: 'Message', of: ({ message }) => html`<bdi>${withLineBreaks(message)}</bdi>`, text: true },
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
