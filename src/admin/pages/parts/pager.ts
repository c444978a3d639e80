import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Page, PageRequest } from '../../contract/operations.ts';
import { withQuery } from './addresses.ts';
import type { ParsedFilter } from './filters.ts';

const ROWS = 50;

/** Which rows a filter's address asks for. */
export function pageRequest({ after }: ParsedFilter<unknown>): PageRequest {
  return { limit: ROWS, after };
}

/** The ways to older rows and back to the newest. */
export function pager(
  path: string,
  { given, after }: ParsedFilter<unknown>,
  { next }: Page<unknown>,
): VNode | null {
  if (after === undefined && next === null) return null;
  return html`<nav class="pager" aria-label="More rows">
    ${after !== undefined && html`<a class="button" rel="first" href=${withQuery(path, given)}>Newest</a>`}
    ${next !== null && html`<a class="button" rel="next" href=${withQuery(path, { ...given, after: next })}>Older</a>`}
  </nav>`;
}

/** What a page without rows says: nothing yet, no match, or none among those that were looked through so far. */
export function emptyText(
  { given, after }: ParsedFilter<unknown>,
  { next }: Page<unknown>,
  words: { readonly noMatch: string; readonly noneYet: string },
): string {
  if (next !== null) return 'None among the newest. Older ones may match: go on looking.';
  if (after !== undefined) return 'There are no older ones.';
  return Object.keys(given).length > 0 ? words.noMatch : words.noneYet;
}
