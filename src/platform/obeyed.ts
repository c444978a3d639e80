/**
 * Characters that a terminal, a pager or an editor obeys in place of showing them: controls (an escape among them), line
 * separators, what changes the direction of the text around it, what cannot be seen, and halves of surrogate pairs.
 */
export const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
