import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, test } from 'vitest';
import { COMMANDS } from '../../../src/cli/command-table.ts';
import { Install } from '../an-install.ts';

/** The commands that open the ledger, some of them in two ways. */
const OF_LEDGER: readonly (readonly string[])[] = [
  ['status'],
  ['trace', '1'],
  ['deliveries'],
  ['query', 'SELECT 1'],
  ['top', '--once'],
  ['preview', '--sink', 'drop', '--lead', '1'],
  ['retry', '--sink', 'crm', '--state', 'dead'],
  ['replay', '--sink', 'crm', '--since', '1h'],
  ['pause', 'crm'],
  ['resume', 'crm'],
  ['forget', 'crm'],
  ['reconcile', '--sink', 'drop'],
  ['plan'],
  ['erase', '1', '--yes'],
  ['status', 'crm'],
  ['tail'],
  ['find', 'anna'],
  ['rejected'],
  ['discard', '--all', '--note', 'a note'],
  ['cancel-replay', 'crm'],
  ['export', 'out/leads.csv'],
  ['export-subject', '1'],
  ['query', '@missing'],
  ['test', '--last', '1'],
  ['moved', 'main'],
];

/** The other commands: they open no ledger, upgrade it as they should, or report an older one among other things. */
const OTHERS = [
  ...['run', 'sync'], // upgrade the ledger
  ...['worker', 'poll', 'reload', 'login', 'ledger', 'healthcheck', 'restore', 'recover'], // need a daemon, a token, or no ledger or a damaged one
  ...['check', 'support-bundle'], // report it
  'backup', // copies it as it is
  ...['init', 'validate', 'config', 'schema', 'setup', 'fields', 'test-sink', 'test-alert', 'version'],
];

test('every command is among them', () => {
  const known = new Set([...OF_LEDGER.map(([name]) => name), ...OTHERS]);
  const names = Object.values(COMMANDS).flatMap((group) => group.map(({ name }) => name));
  expect(new Set(names)).toEqual(known);
});

/** An installation whose ledger says that it is of the version before, and the ledger's bytes. */
async function ofOlderVersion() {
  const install = new Install({
    sinks: {
      crm: { type: 'csv', directory: './crm', fields: { name: 'lead.client_name' } },
      drop: { type: 'csv', directory: './drop' },
    },
  });
  await (await install.listed(1, 2)).close();
  const file = join(install.folder, 'data', 'ledger.db');
  const db = new Database(file);
  const schema = Number(db.pragma('user_version', { simple: true }));
  db.pragma(`user_version = ${schema - 1}`);
  db.close();
  return { install, file, before: readFileSync(file) };
}

it.each(OF_LEDGER)(
  'leadsync %s leaves a ledger of an older version as it is, and says what upgrades it',
  async (...args) => {
    const { install, file, before } = await ofOlderVersion();
    const { code, stderr } = await install.running().run(args);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/older leadsync.*\n.*leadsync run/),
    });
    expect(readFileSync(file)).toEqual(before);
  },
);

test('leadsync backup copies a ledger of an older version, and leaves it as it is', async () => {
  const { install, file, before } = await ofOlderVersion();
  expect(await install.running().run(['backup', '--to', join(install.folder, 'out')])).toMatchObject({
    code: 0,
    stderr: '',
  });
  expect(readFileSync(file)).toEqual(before);
});
