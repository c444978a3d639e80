import { expect, test } from 'vitest';
import { ExpressionCompiler, isFault } from '../../src/mapping/expression.ts';
import type { ExpressionFault } from '../../src/mapping/expression-fault.ts';
import { Secret } from '../../src/platform/options/secret.ts';

const compiler = new ExpressionCompiler({
  region: 'AU',
  lookups: { owners: { plumbing: '101' } },
  clientKey: undefined,
  lead: () => {
    throw new Error('nothing is evaluated here');
  },
});

function faultOf(text: string, wanted: 'bool' | 'value' = 'value'): ExpressionFault | undefined {
  const compiled = compiler.compile(text, wanted);
  return isFault(compiled) ? compiled : undefined;
}

/** Returns what the fault underlines. */
function marked(text: string): string | undefined {
  const fault = faultOf(text);
  return fault && text.slice(fault.start, fault.end);
}

test.each([
  ['lead.client_nam', 'client_nam', 'there is no field client_nam', 'did you mean "client_name"?'],
  ['client_name', 'client_name', 'there is no variable client_name', 'write lead.client_name'],
  ['laed.client_name', 'laed', 'there is no variable laed', 'did you mean "lead"?'],
  ['phne(lead.client_name)', 'phne(lead.client_name)', 'there is no function phne', 'did you mean "phone"?'],
  ['phone(lead.id)', 'phone(lead.id)', 'phone does not take (int)', 'write phone(text) or phone(text, "AU")'],
  [
    'lead.client_name.upper()',
    'lead.client_name.upper()',
    'upper is a function, not a method',
    'write upper(text)',
  ],
  [
    'lead.id.split(",")',
    'lead.id.split(",")',
    'int.split(string) does not exist: split takes other types',
    '',
  ],
  ['lead.client_name ==', '', 'the expression ends too early', ''],
  ['"abc', '"abc', 'the text begins with a quote and has no closing quote', 'close it'],
  [
    'name(lead.client_name)',
    'name(lead.client_name)',
    'is a name in parts, which cannot be sent',
    'choose one of its fields: .first, .last, .full',
  ],
  [
    'lead.questions.map(q, q)',
    'lead.questions.map(q, q)',
    'is of the type list<Question>, which cannot be sent',
    'make a text, a number, a list or a map of it',
  ],
  [
    'phone(lead.address, "Australia")',
    'phone(lead.address, "Australia")',
    '`phone`: "Australia" is not a country code such as "AU"',
    '',
  ],
  [
    'date(lead.created_at, "Sydney")',
    'date(lead.created_at, "Sydney")',
    '`date`: there is no time zone "Sydney"',
    '',
  ],
  ['like(lead.address, "(")', 'like(lead.address, "(")', '`like`: "(" is not a regular expression (RE2)', ''],
  [
    'lookup("owner", lead.key)',
    'lookup("owner", lead.key)',
    '`lookup`: there is no table "owner" in `lookups`',
    '',
  ],
  [
    'lead.address.matches("^a")',
    'lead.address.matches("^a")',
    '`matches` is not available, because its patterns can take exponential time',
    'use like(text, "pattern"), whose time is linear',
  ],
  [
    'true ? "a" : null',
    'true ? "a" : null',
    'both sides of `:` must have the same type',
    'for a value that may be absent use default(value, instead)',
  ],
])('%s has a fault at the very characters', (text, part, message, hint) => {
  expect(faultOf(text)).toMatchObject({ message, hint });
  expect(marked(text)).toBe(part);
});

test('a condition must be true or false', () => {
  expect(faultOf('lead.service_slug', 'bool')).toMatchObject({
    message: 'is a text, and must be true or false',
  });
  expect(faultOf('lead.service_slug == "plumbing"', 'bool')).toBeUndefined();
  expect(faultOf('raw.?urgent.orValue(false)', 'bool')).toBeUndefined();
});

test('hash needs the key of the store', () => {
  expect(faultOf('hash(lead.client_email)')?.message).toMatch(/^`hash`: needs a key: set store\.client_key/);
  const keyed = new ExpressionCompiler({
    clientKey: new Secret('key'),
    lead: () => {
      throw new Error('nothing is evaluated here');
    },
  });
  expect(isFault(keyed.compile('hash(lead.client_email)', 'value'))).toBe(false);
});

test('loops may be inside each other twice, not three times', () => {
  const loops = (depth: number): string =>
    depth === 0 ? 'true' : `lead.questions.all(q${depth}, ${loops(depth - 1)})`;
  expect(faultOf(loops(2), 'bool')).toBeUndefined();
  expect(faultOf(loops(3), 'bool')?.message).toBe('`all` is inside 2 other loops');
});

test('a long or deep expression is refused before it runs', () => {
  expect(faultOf(Array.from({ length: 600 }, () => '1').join(' + '))?.message).toBe(
    'an expression may have 500 names, values and operators',
  );
  expect(faultOf(`${'('.repeat(100)}1${')'.repeat(100)}`)?.message).toBe(
    'an expression may have 32 parts inside each other',
  );
});
