import type * as Cel from '@marcbachmann/cel-js';
import { didYouMean } from '../platform/text/suggest.ts';
import { FUNCTIONS, INT, LOOPS, SPLIT, TYPES, VARIABLES } from './language.ts';

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
    case 'no_such_key':
      return {
        ...at,
        message: `there is no field ${written}`,
        hint: fieldHint(written, text.slice(0, range.start)),
      };
    case 'unknown_variable':
      return { ...at, message: `there is no variable ${written}`, hint: variableHint(written, text) };
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

function variableHint(written: string, text: string): string {
  if (LEAD_FIELDS.includes(written)) return `write lead.${written}`;
  const near = didYouMean(written, Object.keys(VARIABLES));
  // A word alone is meant as a text. YAML takes away the quotes that people put around it.
  if (!near && text.trim() === written) return `for a constant, write { value: ${written} }`;
  return near || `put text in double quotes; variables are ${Object.keys(VARIABLES).join(', ')}`;
}

/** What the limits of the CEL package count. */
const COUNTED: Readonly<Record<string, string>> = {
  maxAstNodes: 'names, values and operators',
  maxDepth: 'parts inside each other',
  maxListElements: 'elements in a list',
  maxMapEntries: 'entries in a map',
  maxCallArguments: 'arguments for a function',
};

function limitFault(summary: string): { message: string; hint: string } {
  const [, limit = '', maximum = ''] = /^Exceeded (max\w+) \((\d+)\)$/.exec(summary) ?? [];
  return { message: `an expression may have ${maximum} ${COUNTED[limit] ?? 'parts'}`, hint: 'divide it' };
}

/** What people write that CEL writes in another way, by the characters at the fault or right before it. */
const OTHERWISE: readonly (readonly [written: RegExp, instead: string])[] = [
  [/[“”„‟«»]/, 'this is a typographic quote: type a straight one (")'],
  [/[‘’‚‛]/, "this is a typographic quote: type a straight one (')"],
  [/[\u00a0\u2000-\u200f\u202f\u2060\u3000\ufeff]/, 'this is an invisible character: type an ordinary blank'],
  [/^#/, 'for a constant, write { value: … }'],
  [/\band\b/i, 'write && for "and"'],
  [/\bor\b/i, 'write || for "or"'],
  [/\bnot\b/i, 'write ! for "not", as in !(a in b)'],
  [/\b(contains|startsWith|endsWith)\b/, 'write it behind the text: lead.client_name.contains("x")'],
  [/===|=<|<>|(?<![=!<>])=(?!=)/, 'write == to compare, != for "not equal", <= for "at most"'],
  [/&/, 'write && for "and"'],
  [/\|/, 'write || for "or"'],
  [/\bif\b/, 'write condition ? a : b'],
  [/\?\./, 'write .? as in raw.?utm'],
];

/** One or more email addresses, with commas between them. */
const ADDRESS = /^[^\s"'()@,]+@[^\s"'()@,]+(, *[^\s"'()@,]+@[^\s"'()@,]+)*$/;

/** Characters around a fault of the syntax in which to look for what people write. */
const AROUND = 9;

/** Names of tokens in the messages of the CEL package. */
const TOKENS: Readonly<Record<string, string>> = {
  RBRACKET: ']',
  LBRACKET: '[',
  RPAREN: ')',
  LPAREN: '(',
  RBRACE: '}',
  COMMA: ',',
  COLON: ':',
  DOT: '.',
  GT: '>',
  LT: '<',
  IDENTIFIER: 'a name',
  STRING: 'a text',
  NUMBER: 'a number',
};

function syntaxFault(summary: string, text: string, start: number): ExpressionFault {
  const word = /[\w.]*$/.exec(text.slice(0, start))?.[0] ?? '';
  const here = text.slice(Math.max(0, start - word.length - 1), start + AROUND);
  const hint = OTHERWISE.find(([written]) => written.test(here))?.[1] ?? '';
  const at = { start, end: Math.min(start + 1, text.length) };
  if (/\bEOF\b/.test(summary)) return { ...at, message: endMessage(text), hint: '' };
  if (ADDRESS.test(text))
    return {
      ...at,
      message: 'this is an address, not an expression',
      hint: `for a constant, write { value: "${text}" }`,
    };
  if (hint) return { ...at, message: 'this cannot stand here', hint };
  const [, expected, got] = /^Expected (\w+), got (\w+)/.exec(summary) ?? [];
  const message =
    expected && got
      ? `this is unexpected: ${TOKENS[expected] ?? expected} should be here, not ${TOKENS[got] ?? got}`
      : 'this is unexpected here';
  return { ...at, message, hint: 'is a quote, a bracket or an operator missing before it?' };
}

/** Says which bracket is open at the end of an expression. */
function endMessage(text: string): string {
  const open: string[] = [];
  const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
  for (const [character] of text.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, '').matchAll(/[()[\]{}]/g)) {
    const end = closing[character];
    if (end) open.push(end);
    else open.pop();
  }
  const missing = open.at(-1);
  return missing ? `a ${missing} is missing at the end` : 'the expression ends too early';
}

/** Names of types for people. */
export const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
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

/** Explains that an operator does not take two types. */
function operatorFault(summary: string): { message: string; hint: string } {
  const [, one = '', operator = '', other = ''] = /^no such overload: (\S+) (\S+) (\S+)$/.exec(summary) ?? [];
  const [left = one, right = other] = [one, other].map((type) => TYPE_NAMES[type]);
  if (operator === '') return { message: summary, hint: '' };
  const types = [one, other];
  const hint = types.includes('google.protobuf.Timestamp')
    ? 'a time is compared with a time: timestamp("2026-01-01T00:00:00Z")'
    : types.includes('string') && (types.includes('int') || types.includes('double'))
      ? 'put the number in quotes, or make a text of it: string(…)'
      : '';
  return { message: `${operator} does not take ${left} and ${right}`, hint };
}

/** What functions of other languages are called here. */
const CALLED_HERE: Readonly<Record<string, string>> = {
  touppercase: 'upper(text)',
  tolowercase: 'lower(text)',
  number: 'int(text)',
  length: 'size(text)',
  len: 'size(text)',
  concat: '+',
  includes: 'contains("…")',
  coalesce: 'default(value, instead)',
};

/** Explains that a function does not exist, or not with these types. */
function overloadFault(summary: string): { message: string; hint: string } {
  const [, call = '', receiver, called = '', types = ''] =
    /'((?:([^'(]*)\.)?([A-Za-z_]\w*)\((.*)\))'$/.exec(summary) ?? [];
  const name = { [INT]: 'int', [SPLIT]: 'split' }[called] ?? called;
  const own = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (own && receiver) return { message: `${name} is a function, not a method`, hint: `write ${own.usage}` };
  if (own) return { message: `${name} does not take (${types})`, hint: `write ${own.usage}` };
  if (CEL_FUNCTIONS.includes(name))
    return { message: `${call.replace(called, name)} does not exist: ${name} takes other types`, hint: '' };
  const here = CALLED_HERE[name.toLowerCase()];
  const hint = here ? `write ${here}` : didYouMean(name, [...Object.keys(FUNCTIONS), ...CEL_FUNCTIONS]);
  return {
    message: `there is no function ${name}`,
    hint: hint || `known here: ${[...Object.keys(FUNCTIONS), ...CEL_FUNCTIONS].join(', ')}`,
  };
}

/** The functions of CEL that people use most, for suggestions. */
export const CEL_FUNCTIONS: readonly string[] = [
  ...LOOPS,
  ...'contains startsWith endsWith split join trim substring indexOf size string int double timestamp duration has'.split(
    ' ',
  ),
  ...'getDayOfWeek getHours getMinutes getDate getMonth getFullYear orValue'.split(' '),
];
