import { html } from 'htm/preact';
import type { Content } from './content.ts';

/**
 * Maximum length of a text that gets line-break opportunities, in characters. Each is an element, and a longer text could have too many for a
 * browser.
 */
const MAX_CHARACTERS = 10_000;

/**
 * Returns the text with a line-break opportunity after each slash within a path or an address, so that no word has to break. Returns a long text
 * unchanged.
 */
export function withLineBreaks(text: string): Content {
  if (text.length > MAX_CHARACTERS) return text;
  const [first = '', ...rest] = text.split(/(?<=[^/\s<:]\/)(?=[\w.-])/);
  return rest.length === 0 ? text : [first, ...rest.map((part) => [html`<wbr />`, part])];
}

/** Returns the text with a no-break space between each number and its unit. */
export function withUnitsKept(text: string): string {
  return text.replaceAll(/(\d) (?=(?:ms|s|min|h|days?|B|kB|MB|GB|TB)\b)/g, '$1\u00a0');
}
