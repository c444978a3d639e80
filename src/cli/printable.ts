/** Control characters, line separators, and what changes the direction or the visibility of the text around it. */
const OBEYED =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A text from outside, fit for one line of a terminal: what a terminal would obey is shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(OBEYED, escaped);
}

/** JSON for standard output. Escapes what `printable` does, which leaves the values as they are. */
export function printJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return `${text.replace(OBEYED, (character) => (character === '\n' ? '\n' : escaped(character)))}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
