import { html } from 'htm/preact';
import type { z } from 'zod';
import { Order } from '../../contract/values.ts';
import { withQuery } from '../parts/addresses.ts';
import type { Column } from '../parts/table.ts';
import type { Field, ParsedFilter } from './filters.ts';

/** The form field that selects whether a list is sorted newest or oldest first. The address contains it together with the filter. */
export const orderField = orderFieldFor({});

type Input = ParsedFilter<unknown>['input'];

/** Returns the form field for a list whose order depends on the filter, unless the reader chooses one. */
export function orderFieldFor(input: Input): Field {
  const usual = usualOrder(input);
  const other = opposite(usual);
  return {
    name: 'order',
    label: 'Order',
    choices: [[other, `${other} first`]],
    none: `${usual} first`,
    unsaid: [usual],
  };
}

/** Returns the order of a list without a choice. What is pending is sorted oldest first, because what has waited longest needs attention first. */
function usualOrder({ state }: Input): Order {
  return state === 'pending' ? 'oldest' : 'newest';
}

function opposite(order: Order): Order {
  return order === 'oldest' ? 'newest' : 'oldest';
}

/** Adds `order`, the order of the list, to the schema of a filter. */
export function withOrder<Shape extends z.ZodRawShape>(filter: z.ZodObject<Shape>) {
  return filter.extend({ order: Order.optional() });
}

/** Returns the order that the filter selects. */
export function orderOf({ input }: Pick<ParsedFilter<unknown>, 'input'>): Order {
  const usual = usualOrder(input);
  return input['order'] === opposite(usual) ? opposite(usual) : usual;
}

/** Returns the column by which a list is sorted. Its heading is a link to the first page in the opposite order. */
export function sortedColumn<Row>(
  column: Column<Row>,
  path: string,
  filtered: ParsedFilter<unknown>,
): Column<Row> {
  const isOldest = orderOf(filtered) === 'oldest';
  const next = opposite(orderOf(filtered));
  const order = next === usualOrder(filtered.input) ? undefined : next;
  const title = isOldest ? 'Oldest first. Show the newest first' : 'Newest first. Show the oldest first';
  return {
    ...column,
    sort: isOldest ? 'ascending' : 'descending',
    heading: html`<a class="sort" href=${withQuery(path, { ...filtered.input, order })} title=${title}>${column.label}${' '}<span aria-hidden="true">${isOldest ? '↑' : '↓'}</span></a>`,
  };
}
