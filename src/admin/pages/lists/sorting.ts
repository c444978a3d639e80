import { html } from 'htm/preact';
import type { z } from 'zod';
import { Order } from '../../contract/values.ts';
import { withQuery } from '../parts/addresses.ts';
import type { Column } from '../parts/table.ts';
import type { Field, ParsedFilter } from './filters.ts';

/** The form field that selects whether a list is sorted newest or oldest first. The address contains it together with the filter. */
export const orderField: Field = {
  name: 'order',
  label: 'Order',
  choices: [['oldest', 'oldest first']],
  none: 'newest first',
  unsaid: ['newest'],
};

/** Adds `order`, the order of the list, to the schema of a filter. */
export function withOrder<Shape extends z.ZodRawShape>(filter: z.ZodObject<Shape>) {
  return filter.extend({ order: Order.optional() });
}

/** Returns the order that the filter selects. */
export function orderOf({ input }: ParsedFilter<unknown>): Order {
  return input['order'] === 'oldest' ? 'oldest' : 'newest';
}

/** Returns the column by which a list is sorted. Its heading is a link to the first page in the opposite order. */
export function sortedColumn<Row>(
  column: Column<Row>,
  path: string,
  filtered: ParsedFilter<unknown>,
): Column<Row> {
  const isOldest = orderOf(filtered) === 'oldest';
  const order = isOldest ? undefined : 'oldest';
  const title = isOldest ? 'Oldest first. Show the newest first' : 'Newest first. Show the oldest first';
  return {
    ...column,
    sort: isOldest ? 'ascending' : 'descending',
    heading: html`<a class="sort" href=${withQuery(path, { ...filtered.input, order })} title=${title}>${column.label}${' '}<span aria-hidden="true">${isOldest ? '↑' : '↓'}</span></a>`,
  };
}
