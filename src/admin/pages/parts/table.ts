import { html } from 'htm/preact';
import { isValidElement, type VNode } from 'preact';
import type { Content } from './content.ts';

/** A column of a table: its heading and its cells. */
export interface Column<Row> {
  readonly label: string;
  readonly of: (row: Row) => Content;
  /** Replaces the label in the heading. */
  readonly heading?: Content;
  /** Whether the rows are sorted by this column, and how. */
  readonly sort?: 'ascending' | 'descending';
  /** Whether cells are aligned right. */
  readonly number?: boolean;
  /** Whether the text in a cell may wrap at any character. For text from outside, which can have any length. */
  readonly text?: boolean;
  /** Whether a phone leaves the column out, because it says little there that another page does not say. */
  readonly wide?: boolean;
}

interface TableOptions<Row> {
  /** Name of the table for screen readers. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Returns the HTML id of a row, which must not change, so that a live update keeps the reader's selection and focus. */
  readonly key: (row: Row) => string;
  /** Text that replaces a table without rows. */
  readonly empty: Content;
  /** Whether the cards of a phone begin with the first two cells, a name and a state, without labels, and show two of the other cells on a line. */
  readonly compact?: boolean;
}

/**
 * Returns a table. On a phone, it becomes a list of cards in which each cell shows the name of its column. Omits the column `Actions` if no row
 * offers the reader an action.
 */
export function table<Row>({ name, columns: all, rows, key, empty, compact }: TableOptions<Row>): VNode {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const columns = all.filter(
    (column) => column.label !== 'Actions' || rows.some((row) => !isNothing(column.of(row))),
  );
  return html`<table aria-label=${name} class=${compact && 'compact'}>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${classOf(column)} aria-sort=${column.sort}>${column.heading ?? column.label}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row) =>
        html`<tr id=${key(row)}>${columns.map(
          (column) =>
            html`<td class=${classOf(column)} data-label=${column.label}><div>${column.of(row)}</div></td>`,
        )}</tr>`,
    )}</tbody>
  </table>`;
}

/** Whether a cell is empty, possibly apart from an empty `div`. This is so for actions if the reader may do nothing. */
function isNothing(content: Content): boolean {
  if (content === null || content === undefined || content === false || content === '') return true;
  if (Array.isArray(content)) return content.every(isNothing);
  return isValidElement(content) && content.type === 'div' && isNothing(content.props.children as Content);
}

function classOf<Row>({ number, text, wide }: Column<Row>): string | undefined {
  const classes = [number ? 'number' : text && 'text', wide && 'wide'].filter(Boolean);
  return classes.length > 0 ? classes.join(' ') : undefined;
}
