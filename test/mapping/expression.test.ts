import { expect, test } from 'vitest';
import { ExpressionCompiler, isFault } from '../../src/mapping/expression.ts';
import { Effort } from '../../src/mapping/functions/effort.ts';
import type { ExpressionFault } from '../../src/mapping/syntax-fault.ts';
import { Secret } from '../../src/platform/options/secret.ts';

const compiler = new ExpressionCompiler({
  region: 'AU',
  lookups: { owners: { plumbing: '101' } },
  clientKey: undefined,
  effort: new Effort(),
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

test.each<[string, string, string, unknown]>([
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
    'convert it to text, a number, a list or a map',
  ],
  [
    'phone(lead.address, "Australia")',
    'phone(lead.address, "Australia")',
    '`phone`: "Australia" is not a country code such as "AU"',
    '',
  ],
  [
    'lead.service_slug in "plumbing"',
    'lead.service_slug in "plumbing"',
    'in does not take text and text',
    'write a list on the right: slug in ["one", "two"]; to search in text: text.contains("part")',
  ],
  [
    'date(lead.created_at, "australia/sidney")',
    'date(lead.created_at, "australia/sidney")',
    '`date`: there is no time zone "australia/sidney"; did you mean "Australia/Sydney"?',
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
    '`lookup`: there is no table "owner" in `lookups`; did you mean "owners"?',
    '',
  ],
  [
    'lookup("teams", lead.key)',
    'lookup("teams", lead.key)',
    '`lookup`: there is no table "teams" in `lookups`; known here: owners',
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
  ['lead.id == 1 and lead.id == 2', 'a', 'this is not allowed here', 'write && for "and"'],
  ['lead.id == 1 or lead.id == 2', 'o', 'this is not allowed here', 'write || for "or"'],
  [
    'lead.service_slug = "x"',
    '=',
    'this is not allowed here',
    'write == to compare, != for "not equal", <= for "at most"',
  ],
  ['upper(“x”)', '“', 'this is not allowed here', 'this is a typographic quote: type a straight one (")'],
  [
    'lead.client_name\u00a0== "x"',
    '\u00a0',
    'this is not allowed here',
    'this is an invisible character: type an ordinary blank',
  ],
  ['phone(lead.client_phone_number', '', 'a ) is missing at the end', ''],
  ['lead.id in [1, 2', '', 'a ] is missing at the end', ''],
  [
    'lead.name',
    'name',
    'there is no field name',
    expect.stringMatching(/^known here: key, id, .*; a field that the service adds is raw\.\?name$/),
  ],
  [
    'name(lead.client_name).firstname',
    'firstname',
    'there is no field firstname',
    'known here: first, last, full',
  ],
  ['website', 'website', 'there is no variable website', 'for a constant, write { value: website }'],
  [
    'lead.service_slug == plumbing',
    'plumbing',
    'there is no variable plumbing',
    'put text in double quotes; variables are lead, delivery, answers, raw',
  ],
  [
    'lead.client_name + 5',
    'lead.client_name + 5',
    '+ does not take text and a whole number',
    'put the number in quotes, or convert it to text: string(…)',
  ],
  [
    'lead.created_at > "2026-01-01"',
    'lead.created_at > "2026-01-01"',
    '> does not take a time and text',
    'compare a time with a time: timestamp("2026-01-01T00:00:00Z")',
  ],
  [
    'lead.created_at.getHours("Sydney")',
    'lead.created_at.getHours("Sydney")',
    '`getHours`: there is no time zone "Sydney"',
    'write a name such as Australia/Sydney',
  ],
  [
    'int(lead.questions)',
    'int(lead.questions)',
    'int(list<Question>) does not exist: int takes other types',
    '',
  ],
  [
    'lead.client_name.toUpperCase()',
    'lead.client_name.toUpperCase()',
    'there is no function toUpperCase',
    'write upper(text)',
  ],
  [
    'fone(lead.client_phone_number, "AU")',
    'fone(lead.client_phone_number, "AU")',
    'there is no function fone',
    'did you mean "phone"?',
  ],
  [
    'trim(lead.client_name)',
    'trim(lead.client_name)',
    'trim is a method, not a function',
    'write it after the value: lead.client_name.trim(…)',
  ],
  ['lead.key IN ["a"]', 'I', 'this is not allowed here', 'write the operator in lower case: x in ["a", "b"]'],
  ['lead.id == 1 AND lead.id == 2', 'A', 'this is not allowed here', 'write && for "and"'],
  ['lead.id == 1 OR lead.id == 2', 'O', 'this is not allowed here', 'write || for "or"'],
  ['NOT lead.id == 1', 'l', 'this is not allowed here', 'write ! for "not", as in !(a in b)'],
  [
    'not(lead.id == 1)',
    'not(lead.id == 1)',
    'there is no function not',
    'write ! for "not", as in !(a in b)',
  ],
  ['lead.key is null', 'i', 'this is not allowed here', 'write == to compare, != for "not equal"'],
  ['lead.id == 1 & lead.id == 2', '&', 'this is not allowed here', 'write && for "and"'],
  ['lead.id == 1 | lead.id == 2', '|', 'this is not allowed here', 'write || for "or"'],
  [
    'lead.id <> 1',
    '>',
    'this is not allowed here',
    'write == to compare, != for "not equal", <= for "at most"',
  ],
  [
    '${lead.client_name}',
    '${lead.client_name}',
    '${ } has no meaning in an expression',
    'write lead.client_name alone',
  ],
  [
    '{{ lead.client_name }}',
    '{{ lead.client_name }}',
    '{{ }} has no meaning in an expression',
    'write lead.client_name alone',
  ],
  [
    'Dear ${lead.client_name}',
    '${lead.client_name}',
    '${ } has no meaning in an expression',
    'write lead.client_name alone, and join text with +: "Dear " + lead.client_name',
  ],
  [
    'lead.key == ${KEY}',
    '${KEY}',
    '${ } has no meaning in an expression',
    'environment variables are not replaced here: write the value, in double quotes',
  ],
  ['New lead', 'New lead', 'this is text, not an expression', 'for a constant, write { value: New lead }'],
  [
    "It's new, call!",
    "It's new, call!",
    'this is text, not an expression',
    'for a constant, write { value: "It\'s new, call!" }',
  ],
  ['new-lead', 'new-lead', 'this is text, not an expression', 'for a constant, write { value: new-lead }'],
  [
    'https://example.com/a',
    'https://example.com/a',
    'this is an address, not an expression',
    'for a constant, write { value: "https://example.com/a" }',
  ],
])('%s has a fault at the very characters', (text, part, message, hint: unknown) => {
  expect(faultOf(text)).toMatchObject({ message, hint });
  expect(marked(text)).toBe(part);
});

test('a condition must be true or false', () => {
  expect(faultOf('lead.service_slug', 'bool')).toMatchObject({
    message: 'is text, but must be true or false',
  });
  expect(faultOf('lead.service_slug == "plumbing"', 'bool')).toBeUndefined();
  expect(faultOf('raw.?urgent.orValue(false)', 'bool')).toBeUndefined();
});

test('a condition is never meant as a constant', () => {
  expect(faultOf('New lead', 'bool')?.message).toBe('this is unexpected here');
  expect(faultOf('urgent', 'bool')?.hint).toMatch(/^put text in double quotes/);
});

test('hash needs the key of the store', () => {
  expect(faultOf('hash(lead.client_email)')?.message).toMatch(/^`hash`: needs a key: set store\.client_key/);
  const keyed = new ExpressionCompiler({
    clientKey: new Secret('key'),
    effort: new Effort(),
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
    'an expression may have at most 500 names, values and operators',
  );
  expect(faultOf(`${'('.repeat(100)}1${')'.repeat(100)}`)?.message).toBe(
    'an expression may have at most 32 nested parts',
  );
});
