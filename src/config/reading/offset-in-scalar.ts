/**
 * Returns the offset in `source`, a scalar as written in YAML, of the character at `index` of `text`, its value. Skips what YAML adds:
 * quotes, escapes, indentation and the header of a block. May be inexact if such an addition contains the next character of the text.
 */
export function offsetInScalar(text: string, source: string, index: number): number {
  let offset = /^[|>]/.test(source) ? source.indexOf('\n') + 1 : 0;
  for (let at = 0; at <= index && at < text.length; at += 1) {
    const character = text.charAt(at);
    if (/\s/.test(character)) continue;
    const found = source.indexOf(character, offset);
    if (found < 0) return 0;
    if (at === index) return found;
    offset = found + 1;
  }
  return offset;
}
