/**
 * Characters that a terminal, pager or editor interprets instead of showing: control characters such as escape, line separators, bidirectional
 * formatting characters, invisible characters, and lone surrogates.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * The `OBEYED` characters that can mislead the reader of a web page: control characters except tab and line feed, line separators, bidirectional
 * formatting characters, and the byte-order mark. Joiners and variation selectors are not among them, because on a page they belong to words and
 * emoji.
 */
export const INTERPRETED_IN_PAGES = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]/gu;

/** Returns the JSON escape of a character, such as `\u202e`. A surrogate pair becomes two escapes. */
export function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Makes untrusted text safe to print on one line of a terminal: escapes every character that a terminal would interpret. */
export function printable(text: string): string {
  return text.replace(OBEYED, escaped);
}

/** Makes text of several lines safe to print on a terminal: escapes as `printable` does, except line feeds. */
export function printableLines(text: string): string {
  return text.replace(OBEYED, (character) => (character === '\n' ? character : escaped(character)));
}

/** Returns JSON for standard output. Escapes as `printable` does, which does not change the values. */
export function printJson(value: unknown): string {
  return `${printableLines(JSON.stringify(value, null, 2))}\n`;
}

/** Replaces every character that a terminal would interpret with a space, for a log or message. */
export function blanked(text: string): string {
  return text.replace(OBEYED, ' ');
}
