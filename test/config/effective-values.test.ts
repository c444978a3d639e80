import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ConfigValue } from '../../src/config/contract/config.ts';
import { describeConfig, describeSecrets, parseConfig } from '../../src/config/load-config.ts';
import type { Environment } from '../../src/config/reading/interpolate.ts';
import { secret } from '../../src/platform/options/option-types.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import type { SinkType } from '../../src/sinks/sink-type.ts';
import { canarySecret, expectNoCanary } from '../support/scene/canary.ts';
import { pigeons, SOURCE } from './reading.ts';

const FILE = '/etc/leadsync/leadsync.yaml';

function describeText(
  text: string,
  env: Environment = {},
  types: readonly SinkType[] = pigeons,
): readonly ConfigValue[] {
  return describeConfig(FILE, { sinkTypes: types, env, readFile: () => Buffer.from(text) });
}

/** `value  (origin)` of one path. */
function shown(
  path: string,
  text: string,
  env: Environment = {},
  types: readonly SinkType[] = pigeons,
): string | undefined {
  const found = describeText(text, env, types).find((one) => one.path === path);
  return found && `${found.value}  (${found.origin.replace(FILE, 'FILE')})`;
}

const sink = (more: string) => `${SOURCE}sinks:\n  p:\n    type: pigeon\n    loft: ./loft\n${more}`;

test('the options with secrets are listed with the origin of each, without the secret', () => {
  const text = `${SOURCE}sinks:
  crm:
    type: webhook
    url: https://crm.example.com/leads
    secret: { file: ./crm.secret }
    headers: { Authorization: '\${TOKEN}', X-Key: 'Bearer \${KEY}', X-Plain: abc }
`;
  const env = { TOKEN: canarySecret('token'), KEY: canarySecret('key') };
  const secrets = (of: Environment) =>
    describeSecrets(FILE, { sinkTypes, env: of, readFile: () => Buffer.from(text) })
      .filter(({ path }) => path.startsWith('sinks.crm.'))
      .map(({ path, variables, file }) => [path, ...variables, ...(file ? [file] : [])].join(' '));
  const expected = [
    'sinks.crm.secret /etc/leadsync/crm.secret',
    'sinks.crm.headers.Authorization TOKEN',
    `sinks.crm.headers.X-Key KEY ${FILE}`,
    `sinks.crm.headers.X-Plain ${FILE}`,
  ];
  expect(secrets(env)).toEqual(expected);
  expect(secrets({}), 'without the variables').toEqual(expected);
  expectNoCanary(JSON.stringify(secrets(env)));
  const config = parseConfig(
    text.replace('{ file: ./crm.secret }', 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0'),
    FILE,
    {
      sinkTypes,
      env,
    },
  );
  expect(config.secrets.map(({ path }) => path)).toContain('sinks.crm.headers.X-Key');
});

describe('a value in force', () => {
  test.each([
    ['sources.main.base_url', 'https://leads.example.com  (FILE:3)'],
    ['sources.main.timeout', '30s  (default)'],
    ['sources.main.poll.every', '30s  (default)'],
    ['sources.main.client_secret', '[secret]  (FILE:5)'],
    ['data_dir', '/etc/leadsync/data  (default)'],
    ['queue.redis_url', '  (default)'],
    ['tokens.encryption_key', undefined],
    ['sources', undefined],
  ])('%s is shown with its origin', (path, expected) => {
    expect(shown(path, SOURCE)).toBe(expected);
  });

  test.each([
    ['altitude: ${HEIGHT}', '7  (environment HEIGHT)'],
    ['altitude: ${LOW:-3}', '3  (FILE:10)'],
    ['altitude: 8', '8  (FILE:10)'],
  ])('%s', (written, expected) => {
    expect(shown('sinks.p.altitude', sink(`    ${written}\n`), { HEIGHT: '7' })).toBe(expected);
  });

  test('that contains a variable has both origins', () => {
    const text = SOURCE.replace('leads.example.com', '${HOST}.example.com');
    expect(shown('sources.main.base_url', text, { HOST: 'eu' })).toBe(
      'https://eu.example.com  (FILE:3, environment HOST)',
    );
  });

  test('whose variable is not set in this process is reported as such', () => {
    const text = SOURCE.replace('s3cr3t', '${NOWHERE}').replace('client_id: id', 'client_id: ${NOBODY}');
    expect(shown('sources.main.client_secret', text)).toBe('[secret]  (environment NOWHERE (not set here))');
    expect(shown('sources.main.client_id', text)).toBe('[not set]  (environment NOBODY (not set here))');
  });

  test('that is a path is absolute', () => {
    expect(shown('sinks.p.loft', sink(''))).toBe('/etc/leadsync/loft  (FILE:9)');
  });

  test('of a secret file is masked, and names the file', () => {
    expect(shown('sinks.p.password', sink('    password: { file: door }\n'))).toBe(
      '[secret]  (file /etc/leadsync/door)',
    );
  });

  test('in a map of secrets is masked', () => {
    expect(shown('sinks.p.rings.gold', sink('    rings: { gold: aurum }\n'))).toBe('[secret]  (FILE:10)');
  });

  test('of a list is one value', () => {
    expect(shown('sinks.p.events', sink('    events: [created, updated]\n'))).toBe(
      '[created, updated]  (FILE:10)',
    );
  });

  test.each([
    [
      'exports',
      '{ type: directory, directory: ./out, every: 1d }',
      ['directory', 'tables', 'format', 'rows'],
    ],
    ['backups', '{ type: directory, directory: ./out, every: 1d }', ['directory']],
    ['exports', '{ type: s3, bucket: b, every: 1d }', ['bucket', 'prefix', 'path_style', 'tables', 'rows']],
    ['backups', '{ type: s3, bucket: b, every: 1d }', ['bucket', 'prefix', 'path_style', 'checksums']],
  ])('of %s: %s has only the options of its type', (section, entry, options) => {
    const values = describeText(`${SOURCE}${section}: { daily: ${entry} }\n`);
    const paths = values.map(({ path }) => path).filter((path) => path.startsWith(section));
    expect(paths).toEqual(expect.arrayContaining(options.map((option) => `${section}.daily.${option}`)));
    const isBucket = entry.includes('s3');
    expect(paths.includes(`${section}.daily.directory`)).toBe(!isBucket);
    expect(paths.includes(`${section}.daily.checksums`)).toBe(isBucket);
    expect(values.find(({ path }) => path === 'exports.daily.format')?.value).toBe(
      section === 'exports' ? 'parquet' : undefined,
    );
  });

  test('by cron is not shown beside an interval', () => {
    const text = `${SOURCE}    poll: { cron: "*/5 * * * *" }\n`;
    expect(shown('sources.main.poll.cron', text)).toBe('*/5 * * * *  (FILE:6)');
    expect(shown('sources.main.poll.every', text)).toBe(undefined);
  });
});

describe('an option of a future sink', () => {
  const door = z.strictObject({ name: z.string(), key: secret() });
  const options = z.strictObject({
    codes: z.array(secret()).optional(),
    door: z.union([secret(), door]).optional(),
    doors: z.array(door).optional(),
    anything: z.unknown().optional(),
  });
  const defaults = {
    events: ['created'] as const,
    batchMax: 1,
    batchWaitMs: 0,
    concurrency: 1,
    timeoutMs: 1000,
  };
  const setup = { option: 'door', question: '', standard: '', entry: () => '' };
  const checked = () => '';
  const types = [
    { type: 'castle', summary: '', options, checked, defaults, setup, load: () => expect.fail() },
  ];
  const castle = (more: string) => `${SOURCE}sinks:\n  c:\n    type: castle\n    ${more}\n`;

  test.each([
    ['codes: [one, two]', 'sinks.c.codes[1]', '[secret]  (FILE:9)'],
    ['door: sesame', 'sinks.c.door', '[secret]  (FILE:9)'],
    ['door: { name: north, key: sesame }', 'sinks.c.door.key', '[secret]  (FILE:9)'],
    ['door: { name: north, key: sesame }', 'sinks.c.door.name', 'north  (FILE:9)'],
    ['doors: [{ name: north, key: sesame }]', 'sinks.c.doors[0].key', '[secret]  (FILE:9)'],
    ['anything: sesame', 'sinks.c.anything', '[secret]  (FILE:9)'],
    ['anything: { deep: [sesame] }', 'sinks.c.anything.deep[0]', '[secret]  (FILE:9)'],
  ])('is masked if it is a secret or is not declared as public: %s', (more, path, expected) => {
    expect(shown(path, castle(more), {}, types)).toBe(expected);
    if (!path.endsWith('.name'))
      expect(JSON.stringify(describeText(castle(more), {}, types))).not.toMatch(/sesame|"one|two"/);
  });
});

describe('an address', () => {
  const crm = (url: string) => `${SOURCE}sinks:\n  crm: { type: webhook, url: "${url}" }\n`;

  test.each([
    ['https://crm.example.com:8443/hooks/token?key=s', 'https://crm.example.com:8443/[secret]'],
    ['https://crm.example.com', 'https://crm.example.com'],
  ])('of a sink, %s, shows only protocol, host and port', (url, expected) => {
    expect(shown('sinks.crm.url', crm(url), {}, [...sinkTypes])).toBe(`${expected}  (FILE:7)`);
  });

  test('of a queue or a database shows neither the user nor the password', () => {
    const text = `${SOURCE}sinks:\n  w: { type: postgres, url: "postgres://me:pw@db:5432/x" }\nqueue: { redis_url: "redis://:pw@r:6379/1" }\n`;
    expect(shown('sinks.w.url', text, {}, [...sinkTypes])).toBe('postgres://db:5432/[secret]  (FILE:7)');
    expect(shown('queue.redis_url', text, {}, [...sinkTypes])).toBe('redis://r:6379/[secret]  (FILE:8)');
  });

  test('whose query may contain a token shows only the names in it', () => {
    const text = `${SOURCE}    leads_path: /leads?token=abc&all=1\n`;
    expect(shown('sources.main.leads_path', text)).toBe('/leads?token=[secret]&all=[secret]  (FILE:6)');
  });
});

test('no secret of the example is shown, in any option', () => {
  const example = readFileSync(
    fileURLToPath(new URL('../../config/leadsync.example.yaml', import.meta.url)),
    'utf8',
  );
  const env = {
    LEADS_BASE_URL: 'https://leads.example.com',
    LEADS_CLIENT_ID: 'client',
    LEADS_CLIENT_SECRET: canarySecret('client'),
    CRM_WEBHOOK_SECRET: `whsec_${Buffer.from(canarySecret('signature')).toString('base64')}`,
    REDIS_URL: `redis://:${canarySecret('redis')}@redis.example:6379`,
    DATABASE_URL: `postgres://leadsync:${canarySecret('database')}@db.example/leads`,
  };
  const values = describeText(example, env, [...sinkTypes]);
  expect(values.length).toBeGreaterThan(50);
  expectNoCanary(JSON.stringify(values));
});

test('a configuration with faults shows these, and no value', () => {
  expect(() => describeText(`${SOURCE}sinkz: {}\n`)).toThrow(/sinkz/);
});
