const HEX = '[0-9a-fA-F]';
const [HIGH, LOW] = [String.raw`\\u[dD][89abAB]${HEX}{2}`, String.raw`\\u[dD][c-fC-F]${HEX}{2}`];
/** A column's JSON text with `\u005c` for escaped backslashes, so that every backslash begins an escape. */
const plain = (column: string) => String.raw`replace(${column}::text, '\\', '\u005c')`;
/** Returns SQL for a column's JSON text with U+FFFD in place of NUL and lone surrogates. */
export const safe = (column: string) =>
  String.raw`regexp_replace(regexp_replace(replace(${plain(column)}, '\u0000', '\ufffd'), '${HIGH}(?!${LOW})', '\\ufffd', 'g'), '(?<!${HIGH})${LOW}', '\\ufffd', 'g')`;
/** Returns SQL for whether a column's JSON text contains NUL or a lone surrogate. */
export const isUnsafe = (column: string) =>
  String.raw`${column}::text ~* '\\u(0000|d[89a-f])' AND ${safe(column)} <> ${plain(column)}`;
