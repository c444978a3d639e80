/**
 * Characters that a terminal, a pager or an editor obeys in place of showing them: controls (an escape among them), line
 * separators, what changes the direction of the text around it, what cannot be seen, and halves of surrogate pairs.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Of these, what can mislead the reader of a web page, where joiners and variation selectors belong to words and emoji: controls
 * other than tab and line feed, line separators, what changes the direction of text, and the byte order mark.
 */
export const OBEYED_IN_PAGES = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]/gu;

/** Returns a character as JSON escapes it, `\u202e`; one that is a surrogate pair becomes two escapes. */
export function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Returns a text from outside, fit for one line of a terminal: what a terminal would obey is shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(OBEYED, escaped);
}

/** Does what `printable` does to a text of several lines, which stay lines. */
export function printableLines(text: string): string {
  return text.replace(OBEYED, (character) => (character === '\n' ? character : escaped(character)));
}

/** Returns JSON for standard output. Escapes what `printable` does, which leaves the values as they are. */
export function printJson(value: unknown): string {
  return `${printableLines(JSON.stringify(value, null, 2))}\n`;
}

/** Returns a text for a log or a message, where what a terminal would obey is of no use to the reader: each becomes a blank. */
export function blanked(text: string): string {
  return text.replace(OBEYED, ' ');
}
