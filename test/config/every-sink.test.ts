import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { optionReference } from '../../scripts/generate/option-reference.ts';
import { exampleConfig } from '../../src/config/initial/example-config.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { configSchema, sinkSchema } from '../../src/config/options/config-json-schema.ts';
import { sinkOptions } from '../../src/config/options/sink-options.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { fits } from './json-schema-check.ts';
import { faultsOf, SOURCE } from './reading.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Without that of `npm run world`, which sets all of its variables, durations too; test/start/world.test.ts runs leadsync with it. */
const shipped = readdirSync(`${root}config`).filter(
  (name) => name.endsWith('.yaml') && name !== 'world.yaml',
);

/** What a user of the examples sets. */
const env = {
  LEADS_BASE_URL: 'https://leads.example.com',
  REDIS_URL: 'redis://redis.example:6379',
  LEADS_CLIENT_ID: 'client',
  LEADS_CLIENT_SECRET: 'leads-s3cr3t',
  LEADSYNC_ADMIN_TOKEN: 'a-token-of-some-length',
  CRM_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  KAFKA_PASSWORD: 'kafka-s3cr3t',
  SLACK_BOT_TOKEN: 'xoxb-1-s3cr3t',
  HUBSPOT_TOKEN: 'pat-eu1-0123',
  SALESFORCE_DOMAIN: 'https://example.my.salesforce.com',
  SALESFORCE_CLIENT_ID: '3MVG9.key',
  SALESFORCE_CLIENT_SECRET: 'salesforce-s3cr3t',
  PIPEDRIVE_DOMAIN: 'https://example.pipedrive.com',
  PIPEDRIVE_TOKEN: 'pipedrive-s3cr3t',
  SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T1/B1/s3cr3t',
  SMTP_URL: 'smtp://user:p4ssw0rd@mail.example:587',
  DATABASE_URL: 'postgres://leadsync:p4ssw0rd@db.example/leads',
  MYSQL_URL: 'mysql://leadsync:p4ssw0rd@db.example/leads',
};

describe.each([
  ...shipped.map((name) => [`config/${name}`, readFileSync(`${root}config/${name}`, 'utf8')]),
  ['what `leadsync init` writes', exampleConfig(sinkTypes)],
  ['what `leadsync init` writes, with every comment in it used', uncommented(exampleConfig(sinkTypes))],
])('%s', (_, text = '') => {
  test('is valid', () => {
    expect(faultsOf(text, env, sinkTypes)).toEqual([]);
  });

  test('is valid to an editor', () => {
    expect(fits(parse(text), configSchema(sinkTypes))).toBe(true);
  });
});

/** Options that are shown commented out are put in force; a sentence stays a comment. */
function uncommented(text: string): string {
  return text.replaceAll(/^( *)# (?=(?: {2})?[a-z_]+:(?: |$))/gm, '$1');
}

test('the example has an entry for each type of sink', () => {
  const example = readFileSync(`${root}config/leadsync.example.yaml`, 'utf8');
  const { sinks } = parseConfig(example, 'f', { sinkTypes, env });
  expect(new Set(sinks.map(({ type }) => type))).toEqual(new Set(sinkTypes));
});

describe.each(sinkTypes.map((type) => [type.type, type] as const))('the sink type %s', (name, type) => {
  const options = Object.keys(sinkSchema(type).properties ?? {});

  test('has no option of a name that every sink has', () => {
    const common = ['type', ...Object.keys(sinkOptions(type).shape)];
    expect(Object.keys(type.options.shape).filter((option) => common.includes(option))).toEqual([]);
  });

  test('has a README, and a row in that of leadsync', () => {
    expect(readFileSync(`${root}README.md`, 'utf8')).toContain(`| [${name}](src/sinks/${name}/README.md) |`);
    expect(existsSync(`${root}src/sinks/${name}/README.md`)).toBe(true);
  });

  test('names its destination by options that are not secrets', () => {
    for (const option of type.place ?? []) {
      const schema = sinkSchema(type).properties?.[option];
      expect(JSON.stringify(schema)).toContain('"type":"string"');
      expect(JSON.stringify(schema)).not.toContain('"file"');
    }
  });

  test('describes each of its options', () => {
    const reference = optionReference([type]);
    for (const option of Object.keys(type.options.shape))
      expect(reference).toMatch(new RegExp(`\`${option}\`.*\\|.*\\w`));
  });

  test.each(options)('shows nothing of a variable that stands for its %s', (option) => {
    const canary = 'k4n4rienvogel';
    const forms = [`"\${SECRET}"`, `[ "\${SECRET}" ]`, `{ file: "\${SECRET}" }`, `{ x: "\${SECRET}" }`];
    for (const form of forms) {
      const text = `${SOURCE}sinks:\n  s:\n    ${option === 'type' ? '' : `type: ${name}\n    `}${option}: ${form}\n`;
      expect(faultsOf(text, { SECRET: canary }, sinkTypes).join('\n')).not.toContain(canary);
    }
  });
});

test('what is generated from the options is up to date', () => {
  const check = spawnSync(process.execPath, ['scripts/generate.ts', '--check'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect({ said: check.stderr, status: check.status }).toEqual({ said: '', status: 0 });
});
