import { html } from 'htm/preact';
import { LOG_COLUMNS, LogFilter, type LogLine } from '../contract/log.ts';
import { badge } from './parts/badge.ts';
import type { Field } from './parts/filters.ts';
import { addList } from './parts/list-page.ts';
import { moment } from './parts/moment.ts';
import type { AddPage } from './parts/site.ts';
import { type Column, table } from './parts/table.ts';

/** Adds the page with the last lines of the log. */
export const addLog: AddPage = (app, site) => {
  addList(app, site, '/log', 'log', () => ({
    name: 'Log',
    path: '/log',
    noun: 'line',
    fields,
    schema: LogFilter,
    rows: async (filter) => ({ rows: await site.operations.log(filter), next: null }),
    count: async (filter) => (await site.operations.log(filter)).length,
    columns: LOG_COLUMNS,
    body: (_, { rows }) => [
      table({
        name: 'Log',
        columns,
        rows: keyed(rows),
        key: ({ key }) => key,
        empty: 'No line has this level.',
      }),
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

type Row = LogLine & { readonly key: string };

const columns: readonly Column<Row>[] = [
  { label: 'Time', of: ({ at }) => moment(at) },
  { label: 'Level', of: ({ level }) => badge(level) },
  { label: 'Event', of: ({ event }) => event },
  { label: 'Message', of: ({ message }) => html`<bdi>${message}</bdi>`, text: true },
];

/** Gives each line an id that stays the same while newer lines come: lines of the same time are counted from the oldest. */
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
