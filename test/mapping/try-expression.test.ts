import { describe, expect, test } from 'vitest';
import { languageReference } from '../../src/mapping/language-reference.ts';
import { sampleDelivery } from '../../src/mapping/sample-lead.ts';
import { tryExpression } from '../../src/mapping/try-expression.ts';

const tried = (expression: string, region?: string, lead = sampleDelivery({})) =>
  tryExpression({ expression, region, lookups: { teams: { plumbing: 'water' } } }, lead, undefined);

describe('an expression that is tried', () => {
  test.each([
    ['name(lead.client_name).first', 'text of 4 characters', '"Jane"'],
    ['""', 'empty text', '""'],
    ['lead.id', 'whole number', '4711'],
    ['9007199254740993', 'whole number', '9007199254740993'],
    ['1.5', 'number', '1.5'],
    ['lead.service_slug == "plumbing"', 'true or false', 'true'],
    ['lead.created_at', 'time', '"2026-03-02T09:15:00.000Z"'],
    ['phone(lead.client_phone_number)', 'null', 'null'],
    ['lead.questions.map(q, q.slug)', 'list of 2', '["bedrooms","when"]'],
    ['{"a": 1}', 'map', '{"a":1}'],
    ['lookup("teams", lead.service_slug)', 'text of 5 characters', '"water"'],
  ])('%s is a %s', (expression, type, json) => {
    expect(tried(expression)).toEqual({ kind: 'value', type, json });
  });

  test('has the region of its sink', () => {
    expect(tried('phone(lead.client_phone_number)', 'AU')).toMatchObject({ json: '"+61412345678"' });
  });

  test.each([
    ['name(lead.client_nam).first', 'client_nam', 'did you mean "client_name"?'],
    ['lead', 'lead', 'choose one of its fields'],
    ['1 + "a"', '1 + "a"', 'put the number in quotes'],
  ])('%s has a fault at its very characters', (expression, characters, hint) => {
    const found = tried(expression);
    if (found.kind !== 'fault' || found.place === null) throw new Error(`it is ${JSON.stringify(found)}`);
    expect(expression.slice(found.place.start, found.place.end)).toBe(characters);
    expect(found.hint).toContain(hint);
  });

  test('fails at its very characters for a lead that lacks something', () => {
    const expression = 'lead.client_name + answers.bathrooms';
    expect(tried(expression)).toEqual({
      kind: 'failed',
      message: 'the lead has no `bathrooms`',
      hint: '',
      place: { start: expression.indexOf('bathrooms'), end: expression.length },
    });
  });

  test('may have 4,000 characters and no more', () => {
    const long = `"${'x'.repeat(3_998)}"`;
    expect(tried(long)).toMatchObject({ kind: 'value' });
    expect(tried(`${long} `)).toMatchObject({
      kind: 'fault',
      message: 'an expression may have at most 4,000 characters',
      place: null,
    });
  });

  test('says of a lead that is too large that it is', () => {
    const large = sampleDelivery({ all_details_one_liner: 'x'.repeat(8_000_000) });
    expect(tried('lead.id', undefined, large)).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('more than 1 MB of text'),
      place: null,
    });
  });

  test('has no value that is too large to be shown', () => {
    const answers = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`s${at}`, 'a']));
    const list = 'lead.questions.map(a, lead.questions.map(b, 1))';
    expect(tried(list, undefined, sampleDelivery({ answers }))).toMatchObject({
      kind: 'failed',
      message: 'the value has more than 1,048,576 characters',
    });
  });
});

test('the list of what an expression can use has every variable and function, in words', () => {
  const { variables, functions, others } = languageReference;
  expect(variables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['lead.client_name', 'lead.questions', 'delivery.event', 'answers', 'raw']),
  );
  expect(functions.map(({ usage }) => usage)).toEqual(expect.arrayContaining(['email(text)', 'hash(text)']));
  expect(others).toContain('startsWith');
  for (const { content } of variables) expect(content).toMatch(/^(an? |the |text|true or false)/);
  for (const { result } of functions) expect(result).toMatch(/^[a-z3]/);
});
