import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf, printBytes, printCount, printSpan } from '../../../platform/text/human-readable.ts';
import type { Overview } from '../../contract/overview.ts';
import { badge } from '../parts/badge.ts';
import type { Content } from '../parts/content.ts';
import { withLineBreaks } from '../parts/line-breaks.ts';
import { type Column, table } from '../parts/table.ts';
import { ago, moment } from '../parts/time-element.ts';
import { runButton } from './run-export.ts';

type Export = Overview['exports'][number];
type Backup = Overview['backups'][number];
/** Fields that exports and backups have in common. */
type Made = Omit<Export, 'export' | 'rows'>;

/** Returns the section of scheduled exports; false if there are none. */
export function exportSection(exports: readonly Export[], now: Date): Content {
  return exports.length > 0 && html`<section><h2>Exports</h2>${exportTable(exports, now)}</section>`;
}

/** Returns the section of scheduled backups; false if there are none. */
export function backupSection(backups: readonly Backup[], now: Date): Content {
  return backups.length > 0 && html`<section><h2>Backups</h2>${backupTable(backups, now)}</section>`;
}

/** Returns the HTML id of an export's row. */
export function exportId(name: string): string {
  return `export-${name}`;
}

/** Returns the HTML id of a backup's row. */
export function backupId(name: string): string {
  return `backup-${name}`;
}

function backupTable(backups: readonly Backup[], now: Date): VNode {
  return table({
    name: 'Backups',
    compact: true,
    columns: [
      { label: 'Backup', of: (one) => one.backup },
      ...stateColumns<Backup>(),
      { label: 'Last success', of: (one) => ago(one.last_success_at, now), number: true },
      {
        label: 'Leads',
        of: ({ leads }) => (leads === null ? none() : printCount(leads)),
        number: true,
        wide: true,
      },
      ...sizeColumns<Backup>(now, (one) => runButton('backup', one.backup)),
    ],
    rows: backups,
    key: (one) => backupId(one.backup),
    empty: null,
  });
}

function stateColumns<One extends Made>(): Column<One>[] {
  return [
    {
      label: 'State',
      of: (one) => [badge(one.state), html` <small><bdi>${detail(one)}</bdi></small>`],
      text: true,
    },
    {
      label: 'Goes to',
      of: ({ target }) => html`<bdi>${withLineBreaks(target)}</bdi>`,
      text: true,
      wide: true,
    },
    { label: 'When', of: when, wide: true },
  ];
}

/** Returns the last columns. The button of `run` is beside the time of the next run, and below it only where there is no room, as on a tablet. */
function sizeColumns<One extends Made>(now: Date, run: (one: One) => Content): Column<One>[] {
  return [
    {
      label: 'Size',
      of: ({ bytes }) => (bytes === null ? none() : printBytes(bytes)),
      number: true,
      wide: true,
    },
    {
      label: 'Next',
      of: (one) =>
        one.state === 'running' ? none() : html`<div class="beside">${next(one, now)}${run(one)}</div>`,
      number: true,
    },
  ];
}

function exportTable(exports: readonly Export[], now: Date): VNode {
  return table({
    name: 'Exports',
    compact: true,
    columns: [
      { label: 'Export', of: (one) => one.export },
      ...stateColumns<Export>(),
      { label: 'Last success', of: (one) => ago(one.last_success_at, now), number: true },
      { label: 'Rows', of: rows, number: true, wide: true },
      ...sizeColumns<Export>(now, (one) => runButton('export', one.export)),
    ],
    rows: exports,
    key: (one) => exportId(one.export),
    empty: null,
  });
}

/** Returns the details that the state alone does not show. */
function detail({ state, failures, last_error }: Made): string {
  const failed = failures > 0 ? `${countOf(failures, 'time')} in a row: ${last_error ?? ''}` : '';
  switch (state) {
    case 'new':
      return 'no run yet';
    case 'made':
      return '';
    case 'running':
      return failed && `after it failed ${failed}`;
    case 'failed':
      return failures === 1 ? (last_error ?? '') : failed;
  }
}

function when({ every_seconds, at, timezone }: Made): string {
  return every_seconds === null ? `daily at ${at} (${timezone})` : `every ${printSpan(every_seconds * 1000)}`;
}

function rows({ rows }: Export): Content {
  if (rows === null) return none();
  return rows === 0 ? 'no rows' : printCount(rows);
}

function next({ next_at }: Made, now: Date): Content {
  return next_at !== null && Date.parse(next_at) <= now.getTime() ? 'due now' : moment(next_at);
}

function none(): VNode {
  return html`<span class="none">–</span>`;
}
