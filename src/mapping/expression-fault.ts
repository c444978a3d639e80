import type * as Cel from '@marcbachmann/cel-js';
import { didYouMean } from '../platform/text/suggest.ts';
import { FUNCTIONS, INT, LOOPS, SPLIT, TYPES, VARIABLES } from './language.ts';
import { type ExpressionFault, otherSyntax, syntaxFault } from './syntax-fault.ts';

/** Properties that all errors from the CEL package share. */
export interface CelError extends Error {
  readonly code?: string;
  readonly summary?: string;
  readonly range?: Cel.SourceRange;
}

const LEAD_FIELDS = Object.keys(TYPES.Lead.fields);

/** Converts an error from the CEL package to a fault with a plain message and a hint. `wanted` is the argument of `compile`. */
export function faultOf(error: CelError, text: string, wanted: 'bool' | 'value'): ExpressionFault {
  const { code = '', summary = error.message, range = { start: 0, end: text.length } } = error;
  const at = { start: range.start, end: range.end };
  const isOfSyntax = error.name === 'ParseError' && code !== 'limit_exceeded';
  const other = isOfSyntax ? otherSyntax(text, wanted) : undefined;
  if (other) return other;
  const written = text.slice(range.start, range.end);
  switch (code) {
    case 'no_such_key':
      return {
        ...at,
        message: `there is no field ${written}`,
        hint: fieldHint(written, text.slice(0, range.start)),
      };
    case 'unknown_variable':
      return variableFault(at, text, wanted);
    case 'no_matching_overload':
      return { ...at, ...overloadFault(summary) };
    case 'no_such_overload':
      return { ...at, ...operatorFault(summary) };
    case 'incompatible_ternary_branches':
      return {
        ...at,
        message: 'both sides of `:` must have the same type',
        hint: 'for a value that may be absent use default(value, instead)',
      };
    case 'unterminated_string':
      return { ...at, message: 'the text begins with a quote and has no closing quote', hint: 'close it' };
    case 'limit_exceeded':
      return { ...at, ...limitFault(summary) };
    default:
      return error.name === 'ParseError'
        ? syntaxFault(summary, text, range.start)
        : { ...at, message: summary.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase()), hint: '' };
  }
}

function fieldHint(written: string, before: string): string {
  const isOfName = /\bname\([^()]*\)\.$/.test(before);
  const type = isOfName
    ? TYPES.Name
    : /\bdelivery\.$/.test(before)
      ? TYPES.Delivery
      : /\blead\.$/.test(before)
        ? TYPES.Lead
        : undefined;
  const fields = Object.keys(type?.fields ?? {});
  const near = didYouMean(
    written,
    type ? fields : Object.values(TYPES).flatMap((one) => Object.keys(one.fields)),
  );
  if (near || !type) return near;
  const own = type === TYPES.Lead ? `; a field that the service adds is raw.?${written}` : '';
  return `known here: ${fields.join(', ')}${own}`;
}

function variableFault(
  at: Pick<ExpressionFault, 'start' | 'end'>,
  text: string,
  wanted: 'bool' | 'value',
): ExpressionFault {
  const written = text.slice(at.start, at.end);
  const message = `there is no variable ${written}`;
  if (LEAD_FIELDS.includes(written)) return { ...at, message, hint: `write lead.${written}` };
  const near = didYouMean(written, Object.keys(VARIABLES));
  if (near) return { ...at, message, hint: near };
  const other = otherSyntax(text, wanted);
  // A single word is probably meant as text: YAML removes the quotes that people put around it.
  if (other) return text.trim() === written ? { ...other, message } : other;
  const hint = `put text in double quotes; variables are ${Object.keys(VARIABLES).join(', ')}`;
  return { ...at, message, hint };
}

/** What the limits of the CEL package count. */
const COUNTED: Readonly<Record<string, string>> = {
  maxAstNodes: 'names, values and operators',
  maxDepth: 'nested parts',
  maxListElements: 'elements in a list',
  maxMapEntries: 'entries in a map',
  maxCallArguments: 'arguments for a function',
};

function limitFault(summary: string): { message: string; hint: string } {
  const [, limit = '', maximum = ''] = /^Exceeded (max\w+) \((\d+)\)$/.exec(summary) ?? [];
  return {
    message: `an expression may have at most ${maximum} ${COUNTED[limit] ?? 'parts'}`,
    hint: 'split it',
  };
}

/** Names of types, for messages. */
export const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  uint: 'a whole number',
  double: 'a number',
  bool: 'true or false',
  null: 'null',
  'google.protobuf.Timestamp': 'a time',
  'google.protobuf.Duration': 'a duration',
  Lead: 'a whole lead',
  Question: 'a question with its answer',
  Name: 'a name in parts',
  Delivery: 'a whole delivery',
};

/** Explains that an operator does not accept the types of its operands. */
function operatorFault(summary: string): { message: string; hint: string } {
  const [, one = '', operator = '', other = ''] = /^no such overload: (\S+) (\S+) (\S+)$/.exec(summary) ?? [];
  const [left = one, right = other] = [one, other].map((type) => TYPE_NAMES[type]);
  if (operator === '') return { message: summary, hint: '' };
  const types = [one, other];
  const hint = types.every((type) => type === 'string' && operator === 'in')
    ? 'write a list on the right: slug in ["one", "two"]; to search in text: text.contains("part")'
    : types.includes('google.protobuf.Timestamp')
      ? 'compare a time with a time: timestamp("2026-01-01T00:00:00Z")'
      : types.includes('string') && (types.includes('int') || types.includes('double'))
        ? 'put the number in quotes, or convert it to text: string(…)'
        : '';
  return { message: `${operator} does not take ${left} and ${right}`, hint };
}

/** The equivalents of functions from other languages, by the names in those languages. */
const CALLED_HERE: Readonly<Record<string, string>> = {
  touppercase: 'upper(text)',
  tolowercase: 'lower(text)',
  uppercase: 'upper(text)',
  lowercase: 'lower(text)',
  substr: 'substring(0, 5)',
  not: '! for "not", as in !(a in b)',
  if: 'condition ? a : b',
  number: 'int(text)',
  length: 'size(text)',
  len: 'size(text)',
  concat: '+',
  includes: 'contains("…")',
  coalesce: 'default(value, instead)',
};

/** Explains that a function does not exist, or does not accept these types. */
function overloadFault(summary: string): { message: string; hint: string } {
  const [, call = '', receiver, called = '', types = ''] =
    /'((?:([^'(]*)\.)?([A-Za-z_]\w*)\((.*)\))'$/.exec(summary) ?? [];
  const name = { [INT]: 'int', [SPLIT]: 'split' }[called] ?? called;
  const own = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (own && receiver) return { message: `${name} is a function, not a method`, hint: `write ${own.usage}` };
  if (own) return { message: `${name} does not take (${types})`, hint: `write ${own.usage}` };
  if (!receiver && METHODS.includes(name))
    return {
      message: `${name} is a method, not a function`,
      hint: `write it after the value: lead.client_name.${name}(…)`,
    };
  if (CEL_FUNCTIONS.includes(name))
    return { message: `${call.replace(called, name)} does not exist: ${name} takes other types`, hint: '' };
  const here = CALLED_HERE[name.toLowerCase()];
  const known = [...Object.keys(FUNCTIONS), ...CEL_FUNCTIONS];
  const hint = here ? `write ${here}` : didYouMean(name, known) || didYouMean(name, known, 1 / 2);
  return { message: `there is no function ${name}`, hint: hint || `known here: ${known.join(', ')}` };
}

/** The methods of CEL that people use most, for suggestions. */
const METHODS: readonly string[] = [
  ...LOOPS,
  ...'contains startsWith endsWith split join trim substring indexOf'.split(' '),
  ...'getDayOfWeek getHours getMinutes getDate getMonth getFullYear orValue'.split(' '),
];

/** The functions and methods of CEL that people use most, for suggestions. */
export const CEL_FUNCTIONS: readonly string[] = [
  ...METHODS,
  ...'size string int double timestamp duration has'.split(' '),
];
