import { expect, test } from 'vitest';
import { loadLedgerConfig } from '../../src/config/load-config.ts';
import { faultsOf, pigeons, read, SOURCE } from './reading.ts';

/** Returns a configuration with a sink that has these lines. */
const sink = (...lines: string[]) =>
  `${SOURCE}sinks:\n  p:\n${['type: pigeon', 'loft: ./loft', ...lines].map((line) => `    ${line}\n`).join('')}`;

const SAMPLE = [
  `where: lead.service_slug in ["plumbing", "heating"] && !lead.client_email.endsWith("@example.com")`,
  `region: AU`,
  `fields:`,
  `  email: email(lead.client_email)`,
  `  firstname: name(lead.client_name).first`,
  `  phone: phone(lead.client_phone_number)`,
  `  zip: lead.address.split(", ").filter(p, like(p, "^[0-9]{4}$")).join("")`,
  `  leadsync_answers: 'lead.questions.map(q, q.question + ": " + q.answer).join("\\n")'`,
  `  hubspot_owner_id: rotate(["101", "102", "103"], lead.key)`,
  `  lifecyclestage: { value: lead }`,
  `  stage: { from: answer("when"), once: true, max: 20, invalid: drop }`,
  `tests:`,
  `  - name: everything there`,
  `    lead: { client_name: "Ana María de la Cruz", client_phone_number: "0412 345 678", answers: { bedrooms: "3" } }`,
  `    gives: { firstname: Ana María, phone: "+61412345678", zip: "2042", lifecyclestage: lead }`,
  `  - name: gardeners go elsewhere`,
  `    lead: { service_slug: gardening }`,
  `    left_out: true`,
  `  - name: no number, no phone`,
  `    lead: { client_phone_number: ring me }`,
  `    gives: { phone: ~ }`,
];

test('a mapping is read as data, with the rules of each field', () => {
  const [config] = read(sink(...SAMPLE)).sinks;
  expect(config?.mapping).toMatchObject({
    where: expect.stringContaining('lead.service_slug in'),
    region: 'AU',
    fields: {
      email: { from: 'email(lead.client_email)', once: false, invalid: 'refuse' },
      zip: { from: 'lead.address.split(", ").filter(p, like(p, "^[0-9]{4}$")).join("")' },
      lifecyclestage: { value: 'lead' },
      stage: { from: 'answer("when")', once: true, max: 20, invalid: 'drop' },
    },
  });
  expect(config?.mappingTests).toHaveLength(3);
});

test('a sink without a mapping has none', () => {
  const [config] = read(sink()).sinks;
  expect(config).toMatchObject({ mapping: undefined, mappingTests: [] });
});

test('only a mapping that uses lookup has the tables', () => {
  const lookups = 'lookups:\n  owners: { plumbing: "101" }\n';
  const [config] = read(`${lookups}${sink('fields: { o: \'lookup("owners", lead.service_slug)\' }')}`).sinks;
  expect(config?.mapping?.lookups).toEqual({ owners: { plumbing: '101' } });
  expect(read(`${lookups}${sink('where: lead.id > 5')}`).sinks[0]?.mapping?.lookups).toBeUndefined();
});

test('a mapping has only the tables that it uses, so that a change of another one does not change it', () => {
  const lookups = 'lookups:\n  owners: { plumbing: "101" }\n  teams: { plumbing: "7" }\n';
  const tablesOf = (expression: string) =>
    read(`${lookups}${sink('fields:', `  o: ${expression}`)}`).sinks[0]?.mapping?.lookups;
  expect(tablesOf('lookup("teams", lead.service_slug)')).toEqual({ teams: { plumbing: '7' } });
  expect(
    Object.keys(tablesOf("lookup( 'owners', lead.key) == lookup('teams', lead.key)") ?? {}),
  ).toHaveLength(2);
  expect(Object.keys(tablesOf('lookup(lead.source, lead.key)') ?? {})).toHaveLength(2);
});

// A fault is at the character behind «.
test.each<[string, string[], ...string[]]>([
  [
    'a misspelt field in a plain value',
    ['where: lead.«client_nam == "x"'],
    'sinks.p.where: there is no field client_nam; did you mean "client_name"?',
  ],
  [
    'in single quotes, behind a doubled one',
    ['where: \'lead.client_name != "it\'\'s" && lead.«servic_slug == "x"\''],
    'sinks.p.where: there is no field servic_slug; did you mean "service_slug"?',
  ],
  [
    'in double quotes, behind escapes',
    ['where: "lead.client_name != \\"a\\\\n\\" && «nope == 1"'],
    'sinks.p.where: there is no variable nope; put text in double quotes; variables are lead, delivery, answers, raw',
  ],
  [
    'in a block of lines',
    ['where: |', '  lead.id > 5', '    && lead.«servic_slug == "x"'],
    'sinks.p.where: there is no field servic_slug; did you mean "service_slug"?',
  ],
  [
    'in a folded block',
    ['where: >-', '  lead.id > 5', '  && lead.«servic_slug == "x"'],
    'sinks.p.where: there is no field servic_slug; did you mean "service_slug"?',
  ],
  [
    'in the long form of a field',
    ['fields:', '  a.b: { from: lead.«servic_slug, once: true }'],
    'sinks.p.fields.a.b.from: there is no field servic_slug; did you mean "service_slug"?',
  ],
  [
    'several at once',
    ['where: «lead.id', 'fields: { x: «nme(1), y: «lead }'],
    'sinks.p.where: is a whole number, but must be true or false; compare it: … == "text"',
    'sinks.p.fields.x: there is no function nme; did you mean "name"?',
    'sinks.p.fields.y: is a whole lead, which cannot be sent; choose one of its fields: .key, .id, .source, .service_name, .service_slug, .client_name, .client_email, .client_phone_number, .address, .all_details_one_liner, .created_at, .created_text, .questions',
  ],
  [
    'a colon that ends the key',
    [`fields:`, `  a: «lead.client_name + ": " + lead.client_email`],
    "YAML takes `: ` as the end of a key; put the whole expression in single quotes: '…'",
  ],
  [
    'a value that begins with !',
    ['where: «!lead.client_email.endsWith("x")'],
    "YAML does not read this as one string, because it begins with !; put the whole expression in single quotes: '…'",
  ],
  [
    'a value that begins with a quote',
    ['fields: ', '  a: «"Dear " + lead.client_name'],
    "YAML does not read this as one string, because it begins with \"; put the whole expression in single quotes: '…'",
  ],
  [
    'single quotes inside single quotes',
    [`fields:`, `  a: 'date(lead.created_at, '«Europe/Berlin')'`],
    'the single quote here ends the value; inside an expression in single quotes use double quotes',
  ],
  [
    '{{ }} around an expression',
    ['fields:', '  a: «{{lead.client_name}}'],
    'sinks.p.fields.a: {{ }} has no meaning in an expression; write only what is inside, and join strings with +',
  ],
  [
    '{{ }} in a part of an expression',
    ['where: «{{lead.client_name}} == "x"'],
    '{{ }} has no meaning in an expression; write only what is inside, and join strings with +',
  ],
  [
    '${ } inside { }',
    ['fields: { a: «${lead.client_name} }'],
    '${ } has no meaning in an expression; write only what is inside, and join strings with +',
  ],
  [
    'a constant without quotes',
    ['fields:', '  a: «New lead'],
    'sinks.p.fields.a: this is text, not an expression; for a constant, write { value: New lead }',
  ],
  [
    'a comma inside { }',
    ['fields:', '  a: { from: «phone(lead.client_phone_number, "AU"), once: true }'],
    "inside { } a comma ends a value without quotes; put the whole expression in single quotes: '…'",
  ],
  [
    'a comma inside { } that leaves valid YAML',
    ['fields: { a: «replace(lead.key, lead.source, lead.address), b: lead.key }'],
    "sinks.p.fields.a: inside { } a comma ends a value without quotes; put the whole expression in single quotes: '…'",
  ],
  [
    'a comma in a line of { }',
    ['fields: {', '  a: «phone(lead.client_phone_number, "AU"),', '  b: lead.key }'],
    "inside { } a comma ends a value without quotes; put the whole expression in single quotes: '…'",
  ],
  [
    'a list inside { }',
    ['fields: { a: «lead.service_slug in ["a", "b"] }'],
    "inside { } a [ ends a value without quotes; put the whole expression in single quotes: '…'",
  ],
  [
    'a colon inside { }',
    ['fields: { a: «lead.id == 1 ? "x" : "y" }'],
    "YAML takes `: ` as the end of a key; put the whole expression in single quotes: '…'",
  ],
  [
    'lines that are indented with tabs',
    ['fields:', '«\ta: lead.key', '\tb: lead.key', '\tc: lead.key'],
    'this line and the one below are indented with tabs; YAML allows only spaces',
  ],
  [
    'a field that is indented deeper than the one above',
    ['fields:', '  a: «lead.key', '    b: lead.key'],
    'this key has a value, and the line below is indented deeper; entries of one map or list begin in the same column; entries that belong to a key follow a key without a value',
  ],
  [
    'fields that are indented less than the one above',
    ['fields:', '    a: lead.key', '  «b: lead.key', '  c: lead.key'],
    'the indentation does not match the lines above; entries of one map or list begin in the same column; close every { and [',
  ],
  [
    'a key of a test in a wrong column',
    ['where: lead.id == 1', 'tests:', '  - name: x', '   «left_out: true'],
    'the indentation does not match the lines above; entries of one map or list begin in the same column; close every { and [',
  ],
  [
    'an expression that goes on in the column of its key',
    ['fields:', '  a: lead.key +', '  «lead.key'],
    'the value from the line above continues here, but is not indented deeper than its key; indent this line by two more spaces',
  ],
  [
    'fields in the column of `fields`',
    ['fields:«', 'a: lead.key', 'b: lead.key', 'tests: [{ name: x, gives: { a: y } }]'],
    'sinks.p.fields: has no value: the lines below begin in its column; indent a, b deeper than `fields`',
  ],
  [
    'the rules of a field in its column',
    ['fields:', '  a:«', '  from: lead.key', '  once: true', '  b: lead.key'],
    'sinks.p.fields.a: has no value: the lines below begin in its column; indent from, once deeper than `a`',
  ],
  [
    'a misspelt field that a test expects',
    ['fields: { first_name: lead.client_name }', 'tests: [{ name: x, gives: { frist_name: «y } }]'],
    'sinks.p.tests[0].gives.frist_name: the test "x" expects "y", and the result is no such field; did you mean "first_name"?',
  ],
  [
    'a constant of nothing',
    ['fields: { a: { value: «}, b: { value: "" }, c: { value: ~ } }'],
    'sinks.p.fields.a.value: has no value; write "" for empty text, or null for no value',
  ],
  [
    'a channel that YAML takes for a comment',
    ['note: «#sales'],
    'sinks.p.note: has no value; YAML takes # as the beginning of a comment: put the value in quotes',
  ],
  [
    'an option with a constant of nothing',
    ['note:', '  value:«'],
    'sinks.p.note.value: has no value; write "" for empty text, or null for no value',
  ],
  [
    'a list in place of an expression',
    ['note: «[a, b]', 'fields: { x: «{ value: [a, b] } }'],
    `sinks.p.note: must be an expression, { value: … } or { from: …, max: …, invalid: … }; write several values as one expression: '["one", "other"]'`,
    `sinks.p.fields.x: must be an expression, { value: … } or { from: …, once: …, max: …, invalid: … }; write several values as one expression: '["one", "other"]'`,
  ],
  [
    'a table that does not exist',
    ['fields:', '  a: «lookup("owners", lead.key)'],
    'sinks.p.fields.a: `lookup`: there is no table "owners" in `lookups`; the configuration has none',
  ],
  [
    'a country code that is none',
    ['where: lead.id > 1', 'region: «UK'],
    'sinks.p.region: must be a country code in capital letters (ISO 3166), such as AU, or GB for the United Kingdom; the region of a bucket is `bucket_region`',
  ],
  [
    'where in the wrong column',
    ['fields:', '  a: lead.key', '  where: «lead.id > 1'],
    'sinks.p.fields.where: is an option of the sink, not a field: write it above or below `fields`, in the same column',
  ],
  [
    'a test whose lead is refused, at the expression',
    ['fields: { a: answers.«rooms }', 'tests: [{ name: x, gives: {} }]'],
    'sinks.p.fields.a: the lead of the test "x" is refused: the lead has no `rooms`; use answer("…"), .? or default(…) for what a lead may lack, or `invalid: drop`',
  ],
  [
    'a number sign that begins a comment',
    [`where: lead.client_name != «"a #b"`],
    'sinks.p.where: the text begins with a quote and has no closing quote; YAML takes ` #` as the beginning of a comment: put the whole expression in single quotes',
  ],
  [
    'a "not" that YAML takes for a tag',
    ['where: «!delivery.replay', "fields: { a: «!raw.a == true, b: '!raw.b' }"],
    "sinks.p.where: YAML takes ! at the beginning for a tag; put the whole expression in single quotes: '…'",
    "sinks.p.fields.a: YAML takes ! at the beginning for a tag; put the whole expression in single quotes: '…'",
  ],
  [
    'a number instead of an expression',
    ['fields: { bedrooms: «3 }'],
    'sinks.p.fields.bedrooms: must be an expression, { value: … } or { from: …, once: …, max: …, invalid: … }',
  ],
  [
    'true instead of an expression',
    ['where: «true'],
    'sinks.p.where: must be an expression that is true or false, as text; put a number or true in quotes, or write { value: … } for a constant',
  ],
  [
    'a field inside a field',
    ['fields: { a: lead.key, a.b: «lead.key }'],
    'sinks.p.fields.a.b: cannot be inside a, which is a field of its own',
  ],
  [
    'a name that cannot be a field',
    ['fields: { «"a[0]": lead.key }'],
    'sinks.p.fields: is not a field name: use letters, digits, _, - and blanks, and dots between names, and do not begin with _leadsync_',
  ],
  [
    'hash without a key',
    ['fields: { a: «hash(lead.client_email) }'],
    'sinks.p.fields.a: `hash`: needs a key: set store.client_key, because without one, the text could be found by brute force',
  ],
  [
    'a constant that would lose digits',
    ['fields: { a: { value: «17841400008460057 }, b: { value: 9007199254740991 }, c: { value: 0.1 } }'],
    'sinks.p.fields.a.value: has more digits than leadsync can keep in a number; put it in quotes, or write { from: "…" } for a whole number',
  ],
  [
    'a number of a test that would lose digits',
    [
      'fields: { a: raw.?a }',
      'tests:',
      '  - { name: x, lead: { raw: { a: [1, { b: «17841400008460057 }] } }, gives: { a: «9223372036854775807 } }',
    ],
    'sinks.p.tests[0].lead.raw.a[1].b: has more digits than leadsync can keep in a number; put it in quotes',
    'sinks.p.tests[0].gives.a: has more digits than leadsync can keep in a number; put it in quotes',
  ],
  [
    'a test that fails',
    [
      'fields: { a: lead.client_name, b: lead.id }',
      'tests:',
      '  - { name: x, lead: { client_name: Ana }, gives: { a: «Eva, b: 4711, c: «1 } }',
    ],
    'sinks.p.tests[0].gives.a: the test "x" expects "Eva", and the result is "Ana"; `leadsync test` shows every difference',
    'sinks.p.tests[0].gives.c: the test "x" expects 1, and the result is no such field; did you mean "a"?',
  ],
  [
    'a test that a lead is left out',
    [
      'where: lead.id == 4711',
      'tests: [{ name: x, left_out: «true }, { name: «y, lead: { id: 5 }, gives: {} }]',
    ],
    'sinks.p.tests[0].left_out: the test "x" expects left out, and the result is not left out; `leadsync test` shows every difference',
    'sinks.p.tests[1].name: the test "y" expects not left out, and the result is left out; `leadsync test` shows every difference',
  ],
  [
    'a test that expects nothing',
    ['where: lead.id == 4711', 'tests: [«{ name: x }]'],
    'sinks.p.tests[0]: expects nothing: add gives or left_out',
  ],
  [
    'tests of nothing',
    ['«tests: [{ name: x, gives: {} }]'],
    'sinks.p: there is nothing to test; add `where` or `fields`',
  ],
  [
    'an unknown field of the sample lead',
    ['where: lead.id == 1', 'tests: [{ name: x, lead: { «client_nam: y }, left_out: true }]'],
    'sinks.p.tests[0].lead: unknown key "client_nam"; did you mean "client_name"?',
  ],
])('%s is a fault at its place', (_what, lines, ...faults) => {
  const marked = sink(...lines).split('\n');
  const places = marked.flatMap((line, index) =>
    [...line.matchAll(/«/g)].map(({ index: at }, nth) => `${index + 1}:${at - nth + 1}`),
  );
  const text = marked.join('\n').replaceAll('«', '');
  expect(faultsOf(text)).toEqual(faults.map((fault, index) => `${places[index]}: ${fault}`));
});

test('a $ in an expression or a test is a character like any other', () => {
  const lines = [
    'where: like(lead.address, "^.{2,}$") && lead.client_name != "${HOME}"',
    'fields: { a: { value: $5 } }',
    'tests: [{ name: costs $5, gives: { a: $5 } }]',
  ];
  expect(faultsOf(sink(...lines))).toEqual([]);
});

test('a fault at the top level makes no further faults in mappings', () => {
  const lines = sink('fields:', '  a: hash(lead.client_email)', '  b: \'lookup("owners", lead.key)\'');
  const top = 'lookups: { owners: { x: "1" } }\nstore: { client_key: sixteen characters }\nwatch: perhaps\n';
  expect(faultsOf(`${top}${lines}`)).toEqual(['3:8: watch: must be true or false']);
});

test('a command for the ledger reads a mapping whose key it cannot read', () => {
  const text = `store: { client_key: { file: /nowhere/key } }\n${sink('where: hash(lead.client_email) != "x"', 'tests: [{ name: x, left_out: true }]')}`;
  const parts = { sinkTypes: pigeons, env: {}, readFile: () => Buffer.from(text) };
  expect(loadLedgerConfig('f', parts).sinks).toMatchObject([{ name: 'p' }]);
});

test('an option with a value for each lead is an expression, a constant, or an expression with rules', () => {
  const [config] = read(
    sink(
      'note: lead.client_name',
      `keeper: { from: 'lookup("keepers", lead.service_slug)', max: 9, invalid: drop }`,
    ).replace(/^/, 'lookups:\n  keepers: { plumbing: Anna }\n'),
  ).sinks;
  expect(config?.mapping).toMatchObject({
    perLead: { note: { from: 'lead.client_name', once: false }, keeper: { max: 9, invalid: 'drop' } },
    lookups: { keepers: { plumbing: 'Anna' } },
  });
  expect(config?.mapping?.fields).toBeUndefined();
  expect(read(sink('note: { value: hello }')).sinks[0]?.mapping?.perLead).toEqual({
    note: { value: 'hello' },
  });
});

test('faults of such an option are at its characters, and its text has no variables', () => {
  expect(faultsOf(sink('note: lead.client_nam'))).toEqual([
    expect.stringMatching(/^10:16: sinks\.p\.note: .*client_name/),
  ]);
  expect(faultsOf(sink('note: { value: "${NOTE}" }'), { NOTE: 'hello' })).toEqual([
    expect.stringMatching(/sinks\.p\.note.*cannot contain a variable/),
  ]);
  expect(faultsOf(sink('note: { from: lead.key, once: true }'))).toEqual([
    expect.stringMatching(/sinks\.p\.note.*once/),
  ]);
});

test('such an option is not a field, and tests can expect its value', () => {
  expect(faultsOf(sink('fields: { note: lead.key }'))).toEqual([
    expect.stringMatching(/sinks\.p\.fields: `note` is an option of the sink, not a field/),
  ]);
  const tested = (gives: string) =>
    faultsOf(
      sink('note: upper(lead.service_slug)', 'tests:', `  - { name: loud, gives: { note: ${gives} } }`),
    );
  expect(tested('PLUMBING')).toEqual([]);
  expect(tested('plumbing')).toEqual([
    expect.stringMatching(/expects "plumbing", and the result is "PLUMBING"/),
  ]);
});
