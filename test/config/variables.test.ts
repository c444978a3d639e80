import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { faultsOf, read, SOURCE } from './reading.ts';

const dataDirOf = (written: string, env = {}) => read(`${SOURCE}data_dir: ${written}\n`, env).dataDir;

describe('a variable in a text', () => {
  test.each([
    ['/${A}', { A: 'x' }, '/x'],
    ['/${A}/${B}${A}', { A: 'x', B: 'y' }, '/x/yx'],
    ['/a${A}', { A: '' }, '/a'],
    ['${A:-/d}', {}, '/d'],
    ['${A:-/d}', { A: '' }, '/d'],
    ['${A:-/d}', { A: '/x' }, '/x'],
    ['/x${A:-}', {}, '/x'],
    ['"${A:?tell me}"', { A: '/x' }, '/x'],
    ['"${A:-/a: #b}"', {}, '/a: #b'],
    ['${A:-/$$}', {}, '/$'],
    ['/a$$b$${A}', {}, '/a$b${A}'],
    ["'/${A}'", { A: 'x' }, '/x'],
    ['>-\n  /${A}', { A: 'x' }, '/x'],
    ['/${A}', { A: '${B}$$$&', B: 'no' }, '/${B}$$$&'],
  ])('%s with %j is %s', (written, env, expected) => {
    expect(dataDirOf(written, env)).toBe(expected);
  });

  test('is never a property that every object has', () => {
    expect(faultsOf(`${SOURCE}data_dir: \${constructor}\n`)).toEqual([
      '6:11: data_dir: the variable constructor is not set; set it, or add a default: ${constructor:-…}',
    ]);
  });

  test('an empty one counts as missing for its message', () => {
    expect(faultsOf(`${SOURCE}data_dir: "\${A:?tell me}"\n`, { A: '' })).toEqual([
      '6:11: data_dir: the variable A is not set; tell me',
    ]);
  });

  test('is not replaced in a key', () => {
    expect(faultsOf(`${SOURCE}\${A}: x\n`, { A: 'data_dir' })[0]).toMatch(/^6:1: unknown key "\$\{A\}"/);
  });
});

describe('a value that is wholly one variable', () => {
  const options = (lines: string, env = {}) =>
    read(`${SOURCE}sinks:\n  p: { type: pigeon, loft: l, ${lines} }\n`, env).sinks[0];

  test('is a number if the option is a number', () => {
    expect(options('concurrency: "${N}"', { N: '7' })?.concurrency).toBe(7);
    expect(options('retry: { jitter: "${N:-0.5}" }')?.retry.jitter).toBe(0.5);
    expect(options('weight: "${N}"', { N: '-2.5' })?.options).toMatchObject({ weight: -2.5 });
  });

  test('is a boolean if the option is a boolean', () => {
    expect(options('enabled: "${B}"', { B: 'false' })?.enabled).toBe(false);
    expect(options('backfill: "${B}"', { B: 'true' })?.backfill).toBe(true);
  });

  test('stays a text if the option is a text', () => {
    expect(read(SOURCE.replace('id\n', '${ID}\n'), { ID: '0123' }).sources[0]?.options.client_id).toBe(
      '0123',
    );
  });

  test.each(['', ' 7', '7 ', '0x7', '1e3', '007', '7_000', 'NaN', 'Infinity', 'true'])(
    'is not a number as %j',
    (n) => {
      const faults = faultsOf(`${SOURCE}sinks:\n  p: { type: pigeon, loft: l, concurrency: "\${N}" }\n`, {
        N: n,
      });
      expect(faults).toEqual(['7:44: sinks.p.concurrency: must be a number']);
    },
  );

  test('is held to the limits of the number', () => {
    const text = `${SOURCE}sinks:\n  p: { type: pigeon, loft: l, concurrency: "\${N}" }\n`;
    expect(faultsOf(text, { N: '0' })).toEqual(['7:44: sinks.p.concurrency: must be 1 or more']);
    expect(faultsOf(text, { N: '1.5' })).toEqual(['7:44: sinks.p.concurrency: must be a whole number']);
  });

  test('is not a number if it is only a part of the text', () => {
    expect(
      faultsOf(`${SOURCE}sinks:\n  p: { type: pigeon, loft: l, concurrency: "1\${N}" }\n`, { N: '0' }),
    ).toEqual(['7:44: sinks.p.concurrency: must be a number']);
  });
});

test('the text of a variable changes no structure and is used unchanged', () => {
  const yamlish = fc.constantFrom(
    '\n',
    ': ',
    '- ',
    '# ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '&a',
    '*a',
    '!t',
    '---\n',
    '${A}',
    '$$',
    '\t',
    '<<: ',
    '\u2028',
  );
  const text = fc.array(fc.oneof(yamlish, fc.string()), { minLength: 1 }).map((parts) => parts.join(''));
  const template = `sources:
  main: { base_url: https://x.example, client_id: "\${A}", client_secret: "\${A}" }
sinks:
  p:
    type: pigeon
    loft: l
    rings:
      plain: \${A}
      single: '\${A}'
      block: |-
        <\${A}>
`;
  fc.assert(
    fc.property(
      text.filter((value) => value !== ''),
      (value) => {
        const { sources, sinks } = read(template, { A: value });
        expect(
          sources.map(({ name, options }) => [name, options.client_id, options.client_secret.reveal()]),
        ).toEqual([['main', value, value]]);
        const rings = sinks[0]?.options['rings'] as Record<string, { reveal(): string }>;
        expect(Object.entries(rings).map(([name, ring]) => [name, ring.reveal()])).toEqual([
          ['plain', value],
          ['single', value],
          ['block', `<${value}>`],
        ]);
      },
    ),
  );
});

describe('a message', () => {
  test('is left as it is where a variable holds a word of it', () => {
    const text = `${SOURCE}admin: { listen: "\${WHERE}" }\n`;
    expect(faultsOf(text, { WHERE: 'host' })).toEqual([
      expect.stringContaining('must be host:port such as 127.0.0.1:9464'),
    ]);
  });

  test('names the path of a secret that a default has given, and the variable that gave another', () => {
    const text = `${SOURCE}tokens: { encryption_key: { file: "\${KEYS:-/nowhere/keys}/one" } }\n`;
    expect(faultsOf(text)).toEqual([expect.stringContaining('cannot read /nowhere/keys/one: ')]);
    expect(faultsOf(text, { KEYS: '/nowhere/else' })).toEqual([
      expect.stringContaining('cannot read ${KEYS:-/nowhere/keys}/one: '),
    ]);
  });
});

describe('no message shows the value of a secret or a variable', () => {
  const CANARY = 'k4n4rienvogel';

  test.each([
    ['a path that is no secret', 'breed: "${SECRET}"'],
    ['a missing file', 'password: { file: "${SECRET}" }'],
    ['a number', 'altitude: "${SECRET}"'],
    ['a choice', 'events: ["${SECRET}"]'],
    ['a duration', 'timeout: "${SECRET}"'],
    ['one of two forms', 'weight: "${SECRET}"'],
    ['a type', 'type: "${SECRET}"'],
    ['a variable in a message', 'breed: "${MISSING}${SECRET}"'],
  ])('if it is the value of %s', (_, line) => {
    const faults = faultsOf(`${SOURCE}sinks:\n  p:\n    ${line}\n`, { SECRET: CANARY });
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.join('\n')).not.toContain(CANARY);
  });

  test.each([
    ['in a broken line', `client_secret: "${CANARY}\n`],
    ['beside a bracket', `client_secret: {${CANARY}}\n`],
    ['without a colon', `${CANARY}\n`],
    ['as an escape', `client_secret: "\\${CANARY}"\n`],
    ['with a single dollar', `client_secret: a$${CANARY}\n`],
    ['in a reference that is not understood', `client_secret: "\${A B ${CANARY}}"\n`],
    ['in a list', `client_secret: [${CANARY}]\n`],
    ['as a map', `client_secret: { file: x, ${CANARY}: y }\n`],
  ])('when it stands in the file %s', (_, line) => {
    const faults = faultsOf(
      `sources:\n  main:\n    base_url: https://x.example\n    client_id: id\n    ${line}`,
    );
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.join('\n')).not.toContain(CANARY);
  });

  test('nor does a valid configuration when it is printed', () => {
    expect(JSON.stringify(read(SOURCE))).not.toContain('s3cr3t');
  });
});
