import type { ExpressionLanguage } from '../../../src/admin/contract/previews.ts';
import { languageReference } from '../../../src/mapping/language-reference.ts';
import { MAX_EXPRESSION } from '../../../src/mapping/mapping-definition.ts';

/** What an expression can use. */
export const theLanguage: ExpressionLanguage = {
  variables: [...languageReference.variables],
  functions: [...languageReference.functions],
  others: [...languageReference.others],
  max_characters: MAX_EXPRESSION,
};
