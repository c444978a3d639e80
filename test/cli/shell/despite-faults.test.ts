import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Install } from '../an-install.ts';

/** What people save by mistake, and the fault that is told of it. */
const MISTAKES: readonly [name: string, spoil: (yaml: string) => string, fault: RegExp][] = [
  ['an unknown key at the top', (yaml) => `${yaml}wacth: true\n`, /yaml:\d+:1: unknown key "wacth"/],
  ['a wrong level', (yaml) => `${yaml}log: { level: loud }\n`, /log\.level: must be one of/],
  ['a wrong option of a sink', (yaml) => yaml.replace('directory:', 'dirctory:'), /unknown key "dirctory"/],
  ['a wrong type of sink', (yaml) => yaml.replace('type: csv', 'type: cvs'), /did you mean "csv"/],
  ['an option of admin', (yaml) => yaml.replace('listen: off', 'listen: here'), /must be host:port/],
  [
    'an option that every sink has',
    (yaml) => yaml.replace('type: csv', 'type: csv\n    timeout: 1x'),
    /timeout/,
  ],
  ['no source', (yaml) => yaml.replace(/sources:[\s\S]*?\nsinks/, 'sinks'), /"sources" is missing/],
  ['lines that are no YAML', (yaml) => `${yaml}log: {\n`, /yaml:\d+:\d+: /],
  ['a tab', (yaml) => yaml.replace('\n  drop:', '\n\tdrop:'), /this line is indented with a tab/],
];

async function spoiled(spoil: (yaml: string) => string): Promise<Install> {
  const install = new Install();
  await install.listed(1, 2);
  const valid = readFileSync(install.configFile, 'utf8');
  expect(spoil(valid)).not.toBe(valid);
  writeFileSync(install.configFile, spoil(valid));
  return install;
}

describe('with a configuration that was saved with a mistake', () => {
  test.each(MISTAKES)('%s: status shows how leads flow, and the fault below', async (_, spoil, fault) => {
    const install = await spoiled(spoil);
    const { code, stdout, stderr } = await install.run(['status']);
    expect({ code, stderr }).toEqual({ code: 78, stderr: '' });
    const [shown, faults] = stdout.split(
      /\nThe configuration has \d+ faults?\. leadsync does not start with it; /,
    );
    expect(shown).toMatch(/^main +2 /m);
    expect(shown).toMatch(/^drop .* 2 /m);
    expect(shown).not.toContain('is no longer in the configuration');
    expect(shown).not.toMatch(fault);
    expect(faults).toMatch(fault);
  });

  test('reload prints the fault, even if the address of the running leadsync is unknown', async () => {
    const install = await spoiled(() => 'a: [1,\n b\n');
    const { code, stdout, stderr } = await install.run(['reload']);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toMatch(/yaml:\d+:\d+: /);
    expect(stderr).toContain('Nothing was changed.');
  });

  test('reload sends the token to the running leadsync, and prints its answer', async () => {
    const token = 'a-token-of-some-length';
    const result = { applied: false, generation: 3, faults: ['leadsync.yaml:1:1: what it says'] };
    const server = createServer(({ headers }, response) => {
      const known = headers.authorization === `Bearer ${token}`;
      response.writeHead(known ? 422 : 401).end(known ? JSON.stringify(result) : 'no');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const listen = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const install = new Install({ admin: { listen, token }, log: { level: 'loud' } });
    const { code, stderr } = await install.run(['reload']);
    expect({ code, stderr }).toEqual({
      code: 78,
      stderr: `${result.faults[0]}\nNothing was changed: generation 3 stays in effect.\n`,
    });
    const without = new Install({ admin: { listen, token: '${NOWHERE}' }, log: { level: 'loud' } });
    const { code: rest, stderr: said } = await without.run(['reload']);
    expect({ rest, said }).toEqual({
      rest: 78,
      said: expect.stringMatching(/log\.level: must be one of[\s\S]*requires another admin\.token \(401\)/),
    });
  });

  test('the same for programs', async () => {
    const { code, stdout } = await (await spoiled((yaml) => `${yaml}wacth: true\n`)).run([
      'status',
      '--json',
    ]);
    expect(code).toBe(78);
    expect(JSON.parse(stdout)).toMatchObject({
      config_faults: [expect.stringMatching(/:\d+:1: unknown key "wacth"; did you mean "watch"\?$/)],
      sinks: [{ sink: 'crm', pending: 2 }, { sink: 'drop' }],
    });
  });

  test.each([
    [['top', '--once'], /^crm +healthy +2 /m],
    [['deliveries'], /crm:main:1:1/],
    [['trace', '1'], /first listed|owed/],
    [['query', 'SELECT count(*) AS n FROM leads'], /^2\r?$/m],
  ])('%j shows what it always shows, and says that there is a fault', async (command, shown) => {
    const install = await spoiled((yaml) => `${yaml}wacth: true\n`);
    const { code, stdout, stderr } = await install.run(command);
    expect(code).toBe(0);
    expect(stdout).toMatch(shown);
    expect(stdout + stderr).toMatch(
      /leadsync\.yaml has 1 fault; the rest of it is used\. `leadsync validate/,
    );
  });

  test.each([
    ['pause', 'crm'],
    ['resume', 'crm'],
    ['retry', '--sink', 'crm'],
    ['replay', '--sink', 'crm', '--lead', '1'],
    ['forget', 'crm'],
    ['moved', 'main'],
  ])('%s changes nothing, and says the fault', async (...command) => {
    const install = await spoiled((yaml) => yaml.replace('type: csv', 'type: cvs'));
    const { code, stdout, stderr } = await install.run(command);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toContain('did you mean "csv"');
  });

  test('where the ledger is cannot be guessed', async () => {
    const install = await spoiled((yaml) => yaml.replace('./data', '"${NOWHERE}/data"'));
    const { code, stdout, stderr } = await install.run(['status']);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toContain('data_dir: the variable NOWHERE is not set');
  });
});
