import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { escaped, OBEYED_IN_PAGES } from '../../../platform/text/printable.ts';

/** The value of a field goes back as it came. A quotation mark in text is escaped, so this is an attribute. */
const VALUE = / value="[^"]*"/;
const REPLACED = new RegExp(`${VALUE.source}|${OBEYED_IN_PAGES.source}`, 'gu');

/**
 * Gives a document as HTML: every page leaves by here. What strangers wrote cannot turn the direction of the text around it or
 * hide: such characters are shown as the escapes of JSON (`\u202e`), as in the terminal.
 */
export function renderDocument(document: VNode): string {
  const html = renderToString(document).replaceAll('\r\n', '\n');
  return `<!doctype html>${html.replace(REPLACED, (found) => (found.startsWith(' ') ? found : escaped(found)))}`;
}
