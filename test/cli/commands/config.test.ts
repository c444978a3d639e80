import { expect, test } from 'vitest';
import { Install } from '../an-install.ts';

test('config show prints a table and JSON of what is in force, without a secret', async () => {
  const install = new Install();
  const { code, stdout, stderr } = await install.run(['config', 'show']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^sinks\.crm\.concurrency +10 +default$/m);
  expect(stdout).toMatch(/^sinks\.crm\.url +http:\/\/127\.0\.0\.1:9\/\[secret\] +\/.*leadsync\.yaml:\d+$/m);
  expect(stdout).not.toContain('canary-secret');
  expect(stdout).toMatch(/^admin\.trusted_header\.roles +\{\} +default$/m);
  expect(stdout).not.toContain('[object');
  expect(await install.json('config', 'show')).toContainEqual({
    path: 'sinks.drop.type',
    value: 'csv',
    origin: expect.stringMatching(/leadsync\.yaml:\d+$/),
  });
});

test('config show prints the faults of an invalid configuration', async () => {
  const { code, stdout, stderr } = await new Install({ sinks: { crm: { type: 'fax' } } }).run([
    'config',
    'show',
  ]);
  expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
  expect(stderr).toContain('must be one of webhook, csv, parquet, postgres');
});

test.each([
  [['config'], "missing required argument 'what'"],
  [['config', 'edit'], 'Allowed choices are show'],
])('leadsync %j is wrong usage', async (words, said) => {
  const { code, stderr } = await new Install().run(words);
  expect(code).toBe(2);
  expect(stderr).toContain(said);
});
