import { html } from 'htm/preact';
import { ACTIONS, AUDIT_COLUMNS, AuditFilter, type AuditRow } from '../../contract/audit.ts';
import type { Field } from '../lists/filters.ts';
import { addList } from '../lists/list-page.ts';
import { emptyText } from '../lists/pager.ts';
import type { AddPage } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';
import { detailsInWords } from './audit-details.ts';

/** Adds the audit log page, which shows who did what. */
export const addAudit: AddPage = (app, site) => {
  addList(app, site, '/audit', 'audit', () => ({
    name: 'Audit',
    path: '/audit',
    noun: 'line',
    fields,
    schema: AuditFilter,
    rows: (filter, page) => site.operations.audit(filter, page),
    count: (filter) => site.operations.countAudit(filter),
    columns: AUDIT_COLUMNS,
    body: (filtered, lines) =>
      table({
        name: 'Audit',
        columns,
        rows: lines.rows,
        key: ({ id }) => `line-${id}`,
        empty: emptyText(filtered, lines, words),
      }),
  }));
};

const words = {
  noMatch: 'No line matches. Enter the complete name of the person.',
  noneYet: 'The audit log has no lines yet.',
};

const fields: readonly Field[] = [
  { name: 'who', label: 'Person' },
  { name: 'what', label: 'Action', choices: ACTIONS.map((action) => [action, action] as const) },
  { name: 'since', label: 'Since', time: true },
  { name: 'until', label: 'Until', time: true },
];

const columns: readonly Column<AuditRow>[] = [
  { label: 'Time', of: ({ at }) => moment(at) },
  {
    label: 'Person',
    of: ({ who }) => (who === null ? html`<span class="none">–</span>` : html`<bdi>${who}</bdi>`),
    text: true,
  },
  { label: 'By', of: ({ via }) => via ?? html`<span class="none">–</span>` },
  { label: 'Action', of: ({ what }) => html`<bdi>${what}</bdi>` },
  { label: 'Details', of: detailsInWords, text: true },
  { label: 'Address', of: ({ address }) => address ?? html`<span class="none">–</span>` },
];
