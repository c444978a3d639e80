import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { escaped, INTERPRETED_IN_PAGES } from '../../../platform/text/printable.ts';

/** Matches the value of a form field, which must stay unchanged. Quotation marks in text are escaped, so a match is always an attribute. */
const VALUE = / value="[^"]*"/;
const REPLACED = new RegExp(`${VALUE.source}|${INTERPRETED_IN_PAGES.source}`, 'gu');

/**
 * Returns a document as HTML. Every page passes through here. Shows characters that change the text direction or are invisible as JSON
 * escapes (`\u202e`), as in the terminal, so that a lead's text cannot disguise the text around it.
 */
export function renderDocument(document: VNode): string {
  const html = renderToString(document).replaceAll('\r\n', '\n');
  return `<!doctype html>${html.replace(REPLACED, (found) => (found.startsWith(' ') ? found : escaped(found)))}`;
}
