/** The first character that counts: a spreadsheet skips whitespace and invisible characters before a formula. */
const FIRST_SEEN = /[^\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}]/u;
/** The characters that begin a formula, the minus sign, and every character that some programs fold to one of these (Unicode, NFKC). */
const SIGN = /[=+\-@−⁺⁻⁼₊₋₌⩵⩶﬩﹢﹣﹦﹫＋－＝＠]/;
/** Control characters that some spreadsheets drop before they parse the rest of the text as a new cell. */
const CONTROL = /^[\t\r\n]/;
/** A phone number: a plus sign and then only digits, spaces, parentheses, hyphens and full stops. It is harmless as a formula. */
const PHONE_NUMBER = /^\+[\d(][\d ().-]*$/;
const NEGATIVE_NUMBER = /^-\d+(?:[.,]\d+)?$/;
const APOSTROPHES = /^'*/;

/**
 * Returns a cell that no spreadsheet runs as a formula: puts an apostrophe in front of text that looks like a formula, even one that already begins
 * with apostrophes, so that `restoreCell` can undo it for every text.
 */
export function neutraliseCell(text: string): string {
  return runsAsFormula(text.replace(APOSTROPHES, '')) ? `'${text}` : text;
}

/** Returns the original text of a cell: the inverse of `neutraliseCell`, for programs that read the files. */
export function restoreCell(cell: string): string {
  return cell.startsWith("'") && runsAsFormula(cell.replace(APOSTROPHES, '')) ? cell.slice(1) : cell;
}

function runsAsFormula(text: string): boolean {
  if (PHONE_NUMBER.test(text) || NEGATIVE_NUMBER.test(text)) return false;
  // A search, because an anchored match would overflow the stack with megabytes to skip.
  return CONTROL.test(text) || SIGN.test(FIRST_SEEN.exec(text)?.[0] ?? '');
}
