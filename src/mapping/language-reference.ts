import { CEL_FUNCTIONS, TYPE_NAMES } from './expression-fault.ts';
import { FUNCTIONS, TYPES, VARIABLES } from './language.ts';

/** What an expression can use, described for people. */
export interface LanguageReference {
  /** Each variable, or each field of a variable, such as `lead.client_name`, and what it is, such as `text`. */
  readonly variables: readonly { readonly name: string; readonly content: string }[];
  /** Each function that leadsync adds, such as `email(text)`, and what it returns. */
  readonly functions: readonly { readonly usage: string; readonly result: string }[];
  /** Names of functions of CEL itself. */
  readonly others: readonly string[];
}

/** Names of the types that only variables have. */
const MORE_NAMES: Readonly<Record<string, string>> = {
  'map<string, string>': 'the first answer to each question, by slug: answers.bedrooms',
  'list<Question>': 'a list of answers, each with .question, .slug and .answer',
  dyn: "the lead's JSON as received, including fields that are not listed here: raw.?utm.?source",
};

/** The variables and functions of expressions, from the tables that check and evaluate expressions. */
export const languageReference: LanguageReference = {
  variables: Object.entries(VARIABLES).flatMap(([name, type]) => {
    const fields = Object.entries(TYPES).find(([known]) => known === type)?.[1].fields;
    if (fields === undefined) return [{ name, content: nameOf(type) }];
    return Object.entries(fields).map(([field, of]) => ({ name: `${name}.${field}`, content: nameOf(of) }));
  }),
  functions: Object.values(FUNCTIONS).map(({ usage, result }) => ({ usage, result })),
  others: CEL_FUNCTIONS,
};

function nameOf(type: string): string {
  return MORE_NAMES[type] ?? TYPE_NAMES[type] ?? type;
}
