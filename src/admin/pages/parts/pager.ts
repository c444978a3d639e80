import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Page, PageRequest } from '../../contract/operations.ts';
import { withQuery } from './addresses.ts';
import type { ParsedFilter } from './filters.ts';

const ROWS = 50;

/** Returns the request for the rows after the cursor in the address, or, without a cursor, for the first page. */
export function pageRequest({ after }: ParsedFilter<unknown>): PageRequest {
  return { limit: ROWS, after };
}

/** Returns the links to older rows and to the newest; null if all rows are on this page. */
export function pager(
  path: string,
  { input, after }: ParsedFilter<unknown>,
  { next }: Page<unknown>,
): VNode | null {
  if (after === undefined && next === null) return null;
  return html`<nav class="pager" aria-label="More rows">
    ${after !== undefined && html`<a class="button" rel="first" href=${withQuery(path, input)}>Newest</a>`}
    ${next !== null && html`<a class="button" rel="next" href=${withQuery(path, { ...input, after: next })}>Older</a>`}
  </nav>`;
}

/**
 * Returns the text that a page shows if it has no rows. It says whether there are none yet, none match, or none match in the part searched
 * so far.
 */
export function emptyText(
  { input, after }: ParsedFilter<unknown>,
  { next }: Page<unknown>,
  words: { readonly noMatch: string; readonly noneYet: string },
): string {
  if (next !== null) return 'No match so far. Older rows may match: select Older.';
  if (after !== undefined) return 'There are no older rows.';
  return Object.keys(input).length > 0 ? words.noMatch : words.noneYet;
}
