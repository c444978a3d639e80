import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { configSchema } from '../../src/config/options/config-json-schema.ts';
import { fits } from './json-schema-check.ts';
import { faultsOf, pigeons, SOURCE } from './reading.ts';

const accepts = (text: string) => fits(parse(text), configSchema(pigeons));
const sink = (lines: string) => `${SOURCE}sinks:\n  p: { type: pigeon, loft: l, ${lines} }\n`;

test('the JSON Schema is draft-07 and survives being written down', () => {
  const schema = configSchema(pigeons);
  expect(schema).toHaveProperty('$schema', 'http://json-schema.org/draft-07/schema#');
  expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
});

test.each([
  ['the least', SOURCE],
  ['no sinks', `${SOURCE}sinks: {}\n`],
  ['a secret from a file', sink('password: { file: /etc/hostname }')],
  ['cron', `${SOURCE}    poll: { cron: "* * * * *", timezone: UTC }\n`],
  ['a number', sink('concurrency: 3, altitude: 2, retry: { jitter: 0.5, schedule: [5s, 1d] }')],
  ['either of two forms', sink('weight: any')],
  [
    'variables for a number, a boolean, a duration and a choice',
    sink('concurrency: "${N:-3}", enabled: "${B:-true}", timeout: "${T:-5s}", events: ["${E:-created}"]'),
  ],
  [
    'variables for a choice and an address',
    `${SOURCE}log: { level: "\${L:-info}" }\nqueue: { redis_url: "\${R:-}" }\n`,
  ],
])('what is valid is valid to an editor: %s', (_, text) => {
  expect(faultsOf(text)).toEqual([]);
  expect(accepts(text)).toBe(true);
});

test.each([
  ['an unknown key', `${SOURCE}dat_dir: x\n`],
  ['no sources', 'sources: {}\n'],
  ['a missing key', 'sources: { main: { base_url: https://x.example, client_id: x } }\n'],
  ['a wrong name', SOURCE.replace('main', 'Main')],
  ['an unknown key of a source', `${SOURCE}    colour: red\n`],
  ['an unknown key of a sink', sink('speed: 1')],
  ['an unknown type', `${SOURCE}sinks: { p: { type: owl } }\n`],
  ['no type', `${SOURCE}sinks: { p: { loft: x } }\n`],
  ["a missing option of the sink's type", `${SOURCE}sinks: { p: { type: pigeon } }\n`],
  ['a number out of range', sink('concurrency: 0')],
  ['a text for a number', sink('concurrency: many')],
  ['a number for a text', SOURCE.replace('client_id: id', 'client_id: 5')],
  ['a duration without its unit', sink('timeout: 5')],
  ['a wrong choice', `${SOURCE}log: { level: loud }\n`],
])('what is wrong is wrong to an editor: %s', (_, text) => {
  expect(faultsOf(text)).not.toEqual([]);
  expect(accepts(text)).toBe(false);
});

test('every option of every part is described', () => {
  const undescribed: string[] = [];
  const look = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    for (const [word, inner] of Object.entries(schema)) {
      if (word === 'properties' && !path.endsWith('.if')) {
        for (const [name, option] of Object.entries(inner as Record<string, { description?: string }>)) {
          if (option.description === undefined) undescribed.push(`${path}.${name}`);
        }
      }
      if (word !== 'default') look(inner, `${path}.${word}`);
    }
  };
  look(configSchema(pigeons), '');
  expect(undescribed).toEqual([]);
});
