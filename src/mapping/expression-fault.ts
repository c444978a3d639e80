import type * as Cel from '@marcbachmann/cel-js';
import { didYouMean } from '../platform/text/suggest.ts';
import { FUNCTIONS, LOOPS, TYPES, VARIABLES } from './language.ts';

/** What is wrong with an expression, and where: character offsets from `start` to `end`. */
export interface ExpressionFault {
  readonly message: string;
  readonly hint: string;
  readonly start: number;
  readonly end: number;
}

/** What all errors of the CEL package have in common. */
export interface CelError extends Error {
  readonly code?: string;
  readonly summary?: string;
  readonly range?: Cel.SourceRange;
}

const LEAD_FIELDS = Object.keys(TYPES.Lead.fields);

/** Returns a fault for an error of the CEL package, in words and with a suggestion. */
export function faultOf(error: CelError, text: string): ExpressionFault {
  const { code = '', summary = error.message, range = { start: 0, end: text.length } } = error;
  const at = { start: range.start, end: range.end };
  const written = text.slice(range.start, range.end);
  switch (code) {
    case 'no_such_key': {
      const fields = Object.values(TYPES).flatMap((type) => Object.keys(type.fields));
      return { ...at, message: `there is no field ${written}`, hint: didYouMean(written, fields) };
    }
    case 'unknown_variable': {
      const hint = LEAD_FIELDS.includes(written)
        ? `write lead.${written}`
        : didYouMean(written, Object.keys(VARIABLES)) || `known here: ${Object.keys(VARIABLES).join(', ')}`;
      return { ...at, message: `there is no variable ${written}`, hint };
    }
    case 'no_matching_overload':
      return { ...at, ...overloadFault(summary) };
    case 'incompatible_ternary_branches':
      return {
        ...at,
        message: 'both sides of `:` must have the same type',
        hint: 'for a value that may be absent use default(value, instead)',
      };
    case 'unterminated_string':
      return { ...at, message: 'the text begins with a quote and has no closing quote', hint: 'close it' };
    case 'unexpected_token':
    case 'expected_token':
      return { ...at, message: syntaxMessage(summary), hint: '' };
    default: {
      const [, limit = '', maximum] = /^Exceeded (max\w+) \((\d+)\)$/.exec(summary) ?? [];
      const counted = COUNTED[limit];
      if (counted)
        return { ...at, message: `an expression may have ${maximum} ${counted}`, hint: 'divide it' };
      return { ...at, message: summary.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase()), hint: '' };
    }
  }
}

/** What the limits of the CEL package count. */
const COUNTED: Readonly<Record<string, string>> = {
  maxAstNodes: 'names, values and operators',
  maxDepth: 'parts inside each other',
  maxListElements: 'elements in a list',
  maxMapEntries: 'entries in a map',
  maxCallArguments: 'arguments for a function',
};

function syntaxMessage(summary: string): string {
  return /\bEOF\b/.test(summary) ? 'the expression ends too early' : `this is unexpected here (${summary})`;
}

/** Explains that a function does not exist, or not with these types. */
function overloadFault(summary: string): { message: string; hint: string } {
  const [, call = '', receiver, name = '', types = ''] =
    /'((?:([^'(]*)\.)?([A-Za-z_]\w*)\((.*)\))'$/.exec(summary) ?? [];
  const own = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (!own) {
    const hint = didYouMean(name, [...Object.keys(FUNCTIONS), ...CEL_FUNCTIONS]);
    const known = CEL_FUNCTIONS.includes(name);
    return known
      ? { message: `${call} does not exist: ${name} takes other types`, hint }
      : {
          message: `there is no function ${name}`,
          hint: hint || `ours are ${Object.keys(FUNCTIONS).join(', ')}`,
        };
  }
  if (receiver) return { message: `${name} is a function, not a method`, hint: `write ${own.usage}` };
  return { message: `${name} does not take (${types})`, hint: `write ${own.usage}` };
}

/** The functions of CEL that people use most, for suggestions. */
const CEL_FUNCTIONS = [
  ...LOOPS,
  ...'contains startsWith endsWith split join trim substring indexOf size string int double timestamp duration has'.split(
    ' ',
  ),
  ...'getDayOfWeek getHours getMinutes getDate getMonth getFullYear lowerAscii upperAscii orValue'.split(' '),
];
