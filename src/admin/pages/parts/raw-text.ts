import { html } from 'htm/preact';
import { printCount } from '../../../platform/text/human-readable.ts';
import type { Content } from './content.ts';
import { withLineBreaks } from './line-breaks.ts';

/** Maximum length of a text on a page, in characters. A browser takes seconds to lay out a text of megabytes. */
const MAX_SHOWN = 100_000;
/** Maximum depth of indentation. Deeper levels would have more spaces than text. */
const MAX_DEPTH = 20;

/**
 * Returns a text from outside: indents JSON and leaves any other text unchanged. Returns only the beginning of a long text, with a note that
 * says so.
 */
export function rawText(text: string): Content {
  if (text.length <= MAX_SHOWN) return html`<pre tabindex="0">${withLineBreaks(indented(text))}</pre>`;
  return [
    html`<pre tabindex="0">${beginning(text, MAX_SHOWN)}</pre>`,
    html`<p class="hint">The first ${printCount(MAX_SHOWN)} of ${printCount(text.length)} characters. The API returns all.</p>`,
  ];
}

/** Returns the first `most` characters of a text. */
export function beginning(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|\{\s*\}|\[\s*\]|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Returns a JSON text with one line for each value, and any other text unchanged. Changes only whitespace: numbers keep their digits, and
 * duplicate names stay.
 */
export function indented(text: string): string {
  if (!isJson(text)) return text;
  let depth = 0;
  const line = () => `\n${'  '.repeat(Math.min(depth, MAX_DEPTH))}`;
  const written = (token: string): string => {
    if (token === ':') return ': ';
    if (token === ',') return `,${line()}`;
    if (token === '{' || token === '[') {
      depth += 1;
      return `${token}${line()}`;
    }
    if (token !== '}' && token !== ']') return token;
    depth -= 1;
    return `${line()}${token}`;
  };
  return Array.from(text.matchAll(TOKENS), ([token]) => written(token)).join('');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // not JSON, or nested too deeply
  }
}
