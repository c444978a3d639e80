import { OBEYED } from '../platform/obeyed.ts';

/** A text from outside, fit for one line of a terminal: what a terminal would obey is shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(OBEYED, escaped);
}

/** JSON for standard output. Escapes what `printable` does, which leaves the values as they are. */
export function printJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return `${text.replace(OBEYED, (character) => (character === '\n' ? '\n' : escaped(character)))}\n`;
}

/** As JSON has it: a character that is a surrogate pair becomes two escapes. */
function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
