import { expect, test } from 'vitest';
import {
  type MappedFields,
  type MappedValue,
  mappedJson,
  nestedJson,
} from '../../src/leads/mapped-fields.ts';
import { MAX_ANSWERS, type Mapped, Mapping } from '../../src/mapping/mapping.ts';
import { type MappingDefinition, textOf } from '../../src/mapping/mapping-definition.ts';
import type { SampleChanges } from '../../src/mapping/options.ts';
import { sampleDelivery } from '../../src/mapping/sample-lead.ts';
import { Secret } from '../../src/platform/options/secret.ts';

const rule = (from: string, more = {}) =>
  ({ from, once: false, max: undefined, invalid: 'refuse', ...more }) as const;

function mapping(definition: MappingDefinition): Mapping {
  const compiled = Mapping.compile(definition, new Secret('client key'));
  if (compiled instanceof Mapping) return compiled;
  throw new Error(JSON.stringify(compiled));
}

function mapOne(definition: MappingDefinition, changes: SampleChanges = {}): Mapped {
  return mapping(definition).map(sampleDelivery(changes));
}

/** Returns the value of one expression for the sample lead with changes. */
function valueFor(from: string, changes: SampleChanges = {}, more: Partial<MappingDefinition> = {}): unknown {
  const mapped = mapOne({ ...more, fields: { it: rule(from) } }, changes);
  if (mapped.kind !== 'mapped') throw new Error(JSON.stringify(mapped));
  return mapped.fields?.get('it');
}

test('a field whose expression is a text or number has it for every lead, as a constant has', () => {
  const { columns } = mapping({
    fields: {
      stage: rule('"new"'),
      pipeline: rule('2'),
      owner: { value: '101' },
      name: rule('lead.client_name'),
    },
  });
  expect(columns).toEqual([
    { name: 'stage', type: 'text', constant: 'new' },
    { name: 'pipeline', type: 'bigint', constant: 2n },
    { name: 'owner', type: 'text', constant: '101' },
    { name: 'name', type: 'text' },
  ]);
});

test('`where` lets a lead through or leaves it out', () => {
  const where = 'lead.service_slug in ["plumbing", "heating"] && !lead.client_email.endsWith("@example.com")';
  expect(mapOne({ where })).toEqual({ kind: 'mapped', fields: undefined });
  expect(mapOne({ where }, { service_slug: 'gardening' })).toEqual({ kind: 'left-out' });
  expect(mapOne({ where }, { client_email: 'a@example.com' })).toEqual({ kind: 'left-out' });
});

test.each<[string, SampleChanges, unknown]>([
  ['lead.key', { id: 5, source: 'north' }, 'north:5'],
  ['lead.id', {}, 4711n],
  ['lead.address', { address: null }, ''],
  ['lead.created_at', {}, '2026-03-02T09:15:00.000Z'],
  ['default(phone(lead.client_phone_number), "none")', { client_phone_number: 'ring me' }, 'none'],
  ['email(lead.client_email)', { client_email: ' Ana@Mail.Example.org ' }, 'ana@mail.example.org'],
  ['email(lead.client_email)', { client_email: 'ana at mail' }, null],
  ['email(lead.client_email)', { client_email: 'a@b' }, null],
  ['name(lead.client_name).last', { client_name: 'Ana de la Cruz' }, 'de la Cruz'],
  ['answer("bedrooms")', {}, '3'],
  ['answer("pets")', {}, ''],
  ['answers("rooms").join("; ")', { answers: { rooms: ['hall', 'bath'] } }, 'hall; bath'],
  ['answers.bedrooms', {}, '3'],
  ['answers.?pets.orValue("none")', {}, 'none'],
  ['answers.rooms', { answers: { rooms: ['hall', 'bath'] } }, 'hall'],
  [
    'lead.questions.map(q, q.question + ": " + q.answer).join("\\n")',
    { answers: { bedrooms: '2' } },
    'How many bedrooms are there?: 2',
  ],
  ['raw.?utm.?source.orValue("")', { raw: { utm: { source: 'ad' } } }, 'ad'],
  ['raw.?utm.?source.orValue("")', {}, ''],
  ['raw.?utm', {}, null],
  ['default(raw.?utm, "direct")', {}, 'direct'],
  ['raw.id', {}, 4711n],
  ['raw.n', { raw: { n: 1e300 } }, 1e300],
  ['raw.n + raw.big', { raw: { n: 1, big: 2 } }, 3n],
  ['replace(lead.client_phone_number, " ", "")', {}, '0412345678'],
  ['replace("a.b.c", ".", "$&")', {}, 'a$&b$&c'],
  ['upper(lead.service_slug) + lower("ÄÖ")', {}, 'PLUMBINGäö'],
  ['date(lead.created_at, "Australia/Sydney", "dd/MM/yyyy")', {}, '02/03/2026'],
  ['millis(lead.created_at)', {}, 1772442900000n],
  ['lead.created_at.getDayOfWeek("Australia/Sydney") in [0, 6] ? "weekend" : "weekday"', {}, 'weekday'],
  ['delivery.event + " " + string(delivery.version)', {}, 'created 1'],
  ['like(lead.address, "[0-9]{4}")', {}, true],
  ['["a", "b"]', {}, ['a', 'b']],
  ['{"a": 1, "b": [lead.id]}', {}, { a: 1n, b: [4711n] }],
  ['1.5', {}, 1.5],
  ['int("17") + int(1.9)', {}, 18n],
  ['answer("pets") == "" ? -1 : int(answer("pets"))', {}, -1n],
])('%s', (from, changes, value) => {
  expect(valueFor(from, changes, { region: 'AU' })).toEqual(value);
});

test('a phone number without a country code is of the region, or of the one in the call', () => {
  expect(valueFor('phone(lead.client_phone_number)', {}, { region: 'AU' })).toBe('+61412345678');
  expect(valueFor('phone(lead.client_phone_number, "AU")')).toBe('+61412345678');
  expect(valueFor('phone(lead.client_phone_number)')).toBeNull();
});

test('rotate always gives the same lead the same value, and divides leads evenly', () => {
  const from = 'rotate(["a", "b", "c"], lead.key)';
  const counts = new Map<unknown, number>();
  const owners = mapping({ fields: { it: rule(from) } });
  for (let id = 1; id <= 3_000; id += 1) {
    const mapped = owners.map(sampleDelivery({ id }));
    const owner = mapped.kind === 'mapped' ? mapped.fields?.get('it') : undefined;
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
    if (id <= 5) expect(valueFor(from, { id })).toBe(owner);
  }
  expect([...counts.keys()].sort()).toEqual(['a', 'b', 'c']);
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});

test('lookup finds a value by its key, and null for any other key', () => {
  const lookups = { owners: { plumbing: '101' } };
  expect(valueFor('lookup("owners", lead.service_slug)', {}, { lookups })).toBe('101');
  expect(
    valueFor('lookup("owners", lead.service_slug)', { service_slug: 'constructor' }, { lookups }),
  ).toBeNull();
  expect(
    valueFor('default(lookup("owners", lead.service_slug), "102")', { service_slug: 'x' }, { lookups }),
  ).toBe('102');
});

test('hash depends on the text and on the key', () => {
  const hashed = valueFor('hash(lead.client_email)');
  expect(hashed).toMatch(/^[0-9a-f]{32}$/);
  expect(valueFor('hash(lead.client_email)')).toBe(hashed);
  expect(valueFor('hash(lead.client_name)')).not.toBe(hashed);
  const other = Mapping.compile(
    { fields: { it: rule('hash(lead.client_email)') } },
    new Secret('other'),
  ) as Mapping;
  expect(other.map(sampleDelivery({}))).not.toMatchObject({ fields: new Map([['it', hashed]]) });
});

test('a lead id of 19 digits is exact', () => {
  const delivery = { ...sampleDelivery({}), leadId: 9_223_372_036_854_775_807n };
  const exact = { ...delivery, raw: delivery.raw.replace('"id":4711', '"id":9223372036854775807') };
  const mapped = mapping({
    fields: { id: rule('lead.id'), raw: rule('raw.id'), text: rule('string(lead.id)') },
  }).map(exact);
  if (mapped.kind !== 'mapped' || !mapped.fields) throw new Error('not mapped');
  expect(nestedJson(mapped.fields)).toBe(
    '{"id":9223372036854775807,"raw":9223372036854775807,"text":"9223372036854775807"}',
  );
});

test('an expression that fails refuses the lead, with its column and no text of the lead', () => {
  const failed = mapOne(
    { fields: { stage: rule('answers["Ana " + lead.client_name]') } },
    { client_name: 'Secret' },
  );
  expect(failed).toMatchObject({
    kind: 'failed',
    reason:
      'The expression of `stage` failed for this lead at column 1: the lead has no `answers["Ana " + lead.client_name]`.',
  });
  expect(mapOne({ where: 'int(lead.client_name) > 1' })).toMatchObject({
    kind: 'failed',
    reason: 'The expression of `where` failed for this lead at column 1: the text is not a whole number.',
  });
  expect(mapOne({ where: 'raw.?x.orValue("x")' })).toMatchObject({ kind: 'failed' });
});

test.each(['', ' 3', '3.5', 'many', '0x10', '99999999999999999999'])('int fails for the text %j', (text) => {
  const changes = { answers: { rooms: text } };
  expect(mapOne({ fields: { it: rule('int(answer("rooms"))') } }, changes)).toMatchObject({ kind: 'failed' });
  expect(mapOne({ fields: { it: rule('int(answer("rooms"))', { invalid: 'drop' }) } }, changes)).toEqual({
    kind: 'mapped',
    fields: new Map([['it', null]]),
  });
});

test('a time that is no ISO 8601 time is absent', () => {
  const changes = { created_at: '02/03/2026 20:15' };
  expect(mapOne({ fields: { it: rule('lead.created_at') } }, changes)).toMatchObject({ kind: 'failed' });
  expect(valueFor('lead.created_text', changes)).toBe('02/03/2026 20:15');
});

test('`invalid: drop` makes a value null that cannot be made', () => {
  const fields = { n: rule('int(lead.client_name)', { invalid: 'drop' }), id: rule('lead.id') };
  expect(mapOne({ fields })).toEqual({
    kind: 'mapped',
    fields: new Map<string, unknown>([
      ['n', null],
      ['id', 4711n],
    ]),
  });
});

test('`max` cuts a text, and never in the middle of a character', () => {
  const cut = (max: number) =>
    mapOne({ fields: { it: rule('lead.client_name', { max }) } }, { client_name: 'ab😀c' });
  expect(cut(2)).toMatchObject({ fields: new Map([['it', 'ab']]) });
  expect(cut(3)).toMatchObject({ fields: new Map([['it', 'ab']]) });
  expect(cut(4)).toMatchObject({ fields: new Map([['it', 'ab😀']]) });
  expect(cut(9)).toMatchObject({ fields: new Map([['it', 'ab😀c']]) });
});

test('`once` sends a field with the event `created` only', () => {
  const fields = { stage: { value: 'lead' }, first: rule('lead.key', { once: true }) };
  const one = mapping({ fields });
  const keys = (mapped: Mapped) =>
    mapped.kind === 'mapped' ? [...(mapped.fields as MappedFields).keys()] : [];
  expect(keys(one.map(sampleDelivery({})))).toEqual(['stage', 'first']);
  expect(keys(one.map(sampleDelivery({}, 'updated')))).toEqual(['stage']);
});

test('a dot in a name leads into an object', () => {
  const fields = new Map<string, MappedValue>([
    ['contact.name', 'Jane'],
    ['id', 1n],
    ['contact.phones', ['1', '2']],
    ['contact.where.zip', null],
    ['__proto__', 'x'],
  ] as const);
  expect(nestedJson(fields)).toBe(
    '{"contact":{"name":"Jane","phones":["1","2"],"where":{"zip":null}},"id":1,"__proto__":"x"}',
  );
  expect(mappedJson({ a: [1n, 1.5, true, 'é"'] })).toBe('{"a":[1,1.5,true,"é\\""]}');
});

test('a lead above the limits of expressions is refused as soon as a mapping reads it', () => {
  const many = { answers: { a: Array.from({ length: MAX_ANSWERS + 1 }, () => 'x') } };
  expect(mapOne({ where: 'true' }, many)).toMatchObject({ kind: 'failed' });
  expect(mapOne({ where: 'true' }, { client_name: 'x'.repeat(1_100_000) })).toEqual({
    kind: 'failed',
    reason: 'The lead has more than 1 MB of text, which is more than expressions may read.',
  });
});

test('a result above 1 MB refuses the lead', () => {
  const long = { client_name: 'x'.repeat(600_000) };
  expect(mapOne({ fields: { it: rule('lead.client_name + lead.client_name') } }, long)).toMatchObject({
    kind: 'failed',
  });
  expect(mapOne({ fields: { it: rule('[lead.client_name, lead.client_name]') } }, long)).toMatchObject({
    kind: 'failed',
  });
  expect(
    mapOne({ fields: { it: rule('lead.client_name + lead.client_name', { max: 10 }) } }, long),
  ).toMatchObject({
    fields: new Map([['it', 'xxxxxxxxxx']]),
  });
});

test('the worst expression over the largest lead ends within a second or two', () => {
  const answers = { a: Array.from({ length: MAX_ANSWERS }, (_, n) => `answer ${n}`) };
  const from =
    'lead.questions.filter(q, lead.questions.exists(p, p.answer == "never" && q.slug == p.slug)).map(q, q.slug).join(",")';
  const startedAt = process.hrtime.bigint();
  expect(mapOne({ fields: { it: rule(from) } }, { answers })).toMatchObject({
    fields: new Map([['it', '']]),
  });
  expect(Number(process.hrtime.bigint() - startedAt) / 1e9).toBeLessThan(60);
});

test('functions that loops call too often for one lead refuse it alone, in every attempt at the same call', () => {
  const answers = { a: Array.from({ length: MAX_ANSWERS }, () => '0412 345 678') };
  const pairs = (times: number) =>
    `lead.questions.filter(q, lead.questions.filter(p, int(p.answer.split(" ")[0]) >= 0).all(p, ${Array(times).fill('upper(p.answer) != "x"').join(' && ')})).size()`;
  const one = mapping({ fields: { it: rule(pairs(1)), calls: rule('upper(lead.client_name)') } });
  const refused = {
    kind: 'failed',
    reason: expect.stringContaining('it calls functions too often for the size of this lead'),
  };
  expect(one.map(sampleDelivery({ answers }))).toMatchObject(refused);
  expect(one.map(sampleDelivery({ answers }))).toMatchObject(refused);
  const few = { a: Array.from({ length: 100 }, () => '0412') };
  expect(one.map(sampleDelivery({ answers: few }))).toMatchObject({ kind: 'mapped' });
});

test('a function that reads megabytes counts as many calls', () => {
  const changes = { client_name: 'x'.repeat(900_000), answers: { a: Array.from({ length: 30 }, () => 'y') } };
  const from = 'lead.questions.filter(q, like(lead.client_name, "z$")).size()';
  expect(mapOne({ fields: { it: rule(from) } }, changes)).toMatchObject({ kind: 'failed' });
  expect(mapOne({ fields: { it: rule('like(lead.client_name, "x$")') } }, changes)).toMatchObject({
    fields: new Map([['it', true]]),
  });
});

test('hostile keys of a lead reach no prototype', () => {
  const changes = {
    raw: JSON.parse('{"__proto__":{"polluted":"yes"},"constructor":{"name":"x"}}') as Record<string, never>,
  };
  expect(valueFor('raw.?constructor.?name.orValue("")', changes)).toBe('x');
  expect(() => valueFor('raw.toString', {})).toThrow('the lead has no `');
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  expect(() => valueFor('answers.constructor', {})).toThrow('the lead has no `');
});

test('a lead that is nested a hundred thousand times refuses itself alone', () => {
  const delivery = sampleDelivery({});
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const hostile = { ...delivery, raw: delivery.raw.replace('{', `{"deep":${deep},`) };
  const one = mapping({ fields: { it: rule('raw.?deep') } });
  expect(one.map(hostile)).toMatchObject({
    kind: 'failed',
    reason: 'The expression of `it` failed for this lead at column 1: it cannot be evaluated.',
  });
  expect(one.map(delivery)).toMatchObject({ kind: 'mapped' });
});

test('a definition is stored as text by which it can be compiled again', () => {
  const definition = {
    where: 'true',
    fields: { it: rule('lead.id', { max: 5 }), c: { value: null } },
    region: 'AU',
  };
  const again = JSON.parse(textOf(definition)) as MappingDefinition;
  expect(textOf(again)).toBe(textOf(definition));
  expect(mapOne(again)).toEqual(mapOne(definition));
});
