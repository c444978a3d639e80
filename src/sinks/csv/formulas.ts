/** The first character that spreadsheets do not skip before they look for a formula, as they do blanks and what cannot be seen. */
const FIRST_SEEN = /[^\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}]/u;
/** What begins a formula, the minus sign, and every character that folds to one of them (Unicode, NFKC), as some programs do. */
const SIGN = /[=+\-@−⁺⁻⁼₊₋₌⩵⩶﬩﹢﹣﹦﹫＋－＝＠]/;
/** What some spreadsheets drop, with what comes after it taken anew. */
const CONTROL = /^[\t\r\n]/;
/** A plus sign and nothing but digits, blanks and ( ) - . after it: no program can do harm with that. */
const PHONE_NUMBER = /^\+[\d(][\d ().-]*$/;
const NEGATIVE_NUMBER = /^-\d+(?:[.,]\d+)?$/;
const APOSTROPHES = /^'*/;

/**
 * Keeps a spreadsheet from running a cell: what would be taken for a formula gets an apostrophe in front. Cells that
 * have apostrophes before such a text get one more, so that `restoreCell` can undo it for every text.
 */
export function neutraliseCell(text: string): string {
  return runsAsFormula(text.replace(APOSTROPHES, '')) ? `'${text}` : text;
}

/** The inverse of `neutraliseCell`: what programs that read the files do. */
export function restoreCell(cell: string): string {
  return cell.startsWith("'") && runsAsFormula(cell.replace(APOSTROPHES, '')) ? cell.slice(1) : cell;
}

function runsAsFormula(text: string): boolean {
  if (PHONE_NUMBER.test(text) || NEGATIVE_NUMBER.test(text)) return false;
  // Searched for and not matched from the start: with some megabytes to skip, a match would run out of stack.
  return CONTROL.test(text) || SIGN.test(FIRST_SEEN.exec(text)?.[0] ?? '');
}
