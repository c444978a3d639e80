import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Content } from './content.ts';

/** A column: what stands above it, and in it for a row. */
export interface Column<Row> {
  readonly label: string;
  readonly of: (row: Row) => Content;
  /** What stands above it instead of the label. */
  readonly heading?: Content;
  /** Numbers are set flush right. */
  readonly number?: boolean;
  /** May be broken anywhere: text by strangers, of any length. */
  readonly text?: boolean;
}

interface TableOptions<Row> {
  /** What it is a table of, for those who do not see it. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Names a row for ever: a live update finds the reader's selection and focus again by it. */
  readonly key: (row: Row) => string;
  /** What a reader is told when there are no rows. */
  readonly empty: Content;
}

/** A table that becomes a list of cards on a phone, where each cell says its column's name. */
export function table<Row>({ name, columns, rows, key, empty }: TableOptions<Row>): VNode {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<table aria-label=${name}>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${classOf(column)}>${column.heading ?? column.label}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row) =>
        html`<tr id=${key(row)}>${columns.map(
          (column) =>
            html`<td class=${classOf(column)} data-label=${column.label}><div>${column.of(row)}</div></td>`,
        )}</tr>`,
    )}</tbody>
  </table>`;
}

function classOf<Row>({ number, text }: Column<Row>): string | undefined {
  return number ? 'number' : text ? 'text' : undefined;
}
