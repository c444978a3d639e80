import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { Install } from '../an-install.ts';

const COMMANDS: readonly (readonly string[])[] = [
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
];

it.each(COMMANDS)(
  'leadsync %s leaves a ledger of an older version as it is, and says what upgrades it',
  async (...args) => {
    const install = new Install();
    await (await install.listed(1, 2)).close();
    const file = join(install.folder, 'data', 'ledger.db');
    const db = new Database(file);
    const schema = Number(db.pragma('user_version', { simple: true }));
    db.pragma(`user_version = ${schema - 1}`);
    db.close();
    const before = readFileSync(file);
    const { code, stderr } = await install.running().run(args);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/older leadsync.*\n.*leadsync run/),
    });
    expect(readFileSync(file)).toEqual(before);
  },
);
