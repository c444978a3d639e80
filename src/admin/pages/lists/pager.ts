import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Page, PageRequest } from '../../contract/operations.ts';
import { withQuery } from '../parts/addresses.ts';
import type { ParsedFilter } from './filters.ts';
import { orderOf } from './sorting.ts';

const ROWS = 50;

/** Returns the request for the rows after the cursor in the address, or, without a cursor, for the first page. */
export function pageRequest({ after }: ParsedFilter<unknown>): PageRequest {
  return { limit: ROWS, after };
}

/** Returns the links to the next page and to the first page; null if all rows are on this page. */
export function pager(path: string, filtered: ParsedFilter<unknown>, { next }: Page<unknown>): VNode | null {
  const { input, after } = filtered;
  if (after === undefined && next === null) return null;
  const [first, following] = orderOf(filtered) === 'newest' ? ['Newest', 'Older'] : ['Oldest', 'Newer'];
  return html`<nav class="pager" aria-label="More rows">
    ${after !== undefined && html`<a class="button" rel="first" href=${withQuery(path, input)}>${first}</a>`}
    ${next !== null && html`<a class="button" rel="next" href=${withQuery(path, { ...input, after: next })}>${following}</a>`}
  </nav>`;
}

/**
 * Returns the text that a page shows if it has no rows. It says whether there are none yet, none match, or none match in the part searched
 * so far.
 */
export function emptyText(
  filtered: ParsedFilter<unknown>,
  { next }: Page<unknown>,
  words: { readonly noMatch: string; readonly noneYet: string },
): string {
  const { order: _, ...conditions } = filtered.input;
  const following = orderOf(filtered) === 'newest' ? 'Older' : 'Newer';
  if (next !== null) return `No match so far. ${following} rows may match: select ${following}.`;
  if (filtered.after !== undefined) return `There are no ${following.toLowerCase()} rows.`;
  return Object.keys(conditions).length > 0 ? words.noMatch : words.noneYet;
}
