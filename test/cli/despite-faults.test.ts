import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Install } from './an-install.ts';

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
  ['a tab', (yaml) => yaml.replace('\n  drop:', '\n\tdrop:'), /a tab indents this line/],
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
    expect(shown).not.toContain('is not in the configuration any more');
    expect(shown).not.toMatch(fault);
    expect(faults).toMatch(fault);
  });

  test('reload tells the fault, though the address of the running one may not be at hand', async () => {
    const install = await spoiled(() => 'a: [1,\n b\n');
    const { code, stdout, stderr } = await install.run(['reload']);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toMatch(/yaml:\d+:\d+: /);
    expect(stderr).toContain('Nothing has changed.');
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
    [['top', '--once'], /^crm +ok +2 /m],
    [['deliveries'], /crm:main:1:1/],
    [['trace', '1'], /first listed|owed/],
    [['query', 'SELECT count(*) AS n FROM leads'], /^2\r?$/m],
  ])('%j shows what it always shows, and says that there is a fault', async (command, shown) => {
    const install = await spoiled((yaml) => `${yaml}wacth: true\n`);
    const { code, stdout, stderr } = await install.run(command);
    expect(code).toBe(0);
    expect(stdout).toMatch(shown);
    expect(stdout + stderr).toMatch(
      /leadsync\.yaml has 1 fault, and is read as far as it can be; `leadsync validate/,
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
