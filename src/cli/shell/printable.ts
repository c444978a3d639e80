import { escaped, OBEYED } from '../../platform/text/obeyed.ts';

/** A text from outside, fit for one line of a terminal: what a terminal would obey is shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(OBEYED, escaped);
}

/** The same for a text of several lines, which stay lines. */
export function printableLines(text: string): string {
  return text.replace(OBEYED, escapedInLine);
}

/** JSON for standard output. Escapes what `printable` does, which leaves the values as they are. */
export function printJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return `${printableLines(text)}\n`;
}

function escapedInLine(character: string): string {
  return character === '\n' ? character : escaped(character);
}
