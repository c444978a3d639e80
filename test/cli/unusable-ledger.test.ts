import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { toReadingError } from '../../src/ledger/contract/ledger-error.ts';
import { Install, type Said } from './an-install.ts';

const COMMANDS = ['status', 'check', 'sync', 'recover', 'query @stuck', 'export leads.csv', 'ledger accept'];

const all = ({ stdout, stderr }: Said) => stdout + stderr;

/** An install whose ledger was there, and is this now. */
async function withLedger(make: (file: string) => void): Promise<Install> {
  const install = new Install();
  await (await install.ledger()).close();
  const file = join(install.folder, 'data', 'ledger.db');
  rmSync(file);
  make(file);
  return install;
}

describe.each(COMMANDS)('%s', (words) => {
  const command = words.split(' ');

  test('reports that a folder is in the place of the ledger', async () => {
    const install = await withLedger((file) => void mkdirSync(file));
    const said = await install.run(command);
    expect(said.code).not.toBe(0);
    expect(all(said)).toMatch(/ledger\.db is a folder, not a ledger/);
    expect(all(said)).toContain('mount the folder data_dir');
  });

  test('reports that the ledger cannot be reached', async () => {
    const install = await withLedger((file) => void symlinkSync(file, file));
    const said = await install.run(command);
    expect(said.code).not.toBe(0);
    expect(all(said)).toMatch(/ledger\.db cannot be reached \(ELOOP\)/);
  });
});

test('check does not call a ledger damaged that another process has locked', async () => {
  const install = new Install();
  await (await install.ledger()).close();
  const alone = new Database(join(install.folder, 'data', 'ledger.db'));
  onTestFinished(() => void alone.close());
  alone.pragma('locking_mode = EXCLUSIVE');
  alone.exec('CREATE TABLE theirs (one)');
  const { stdout } = await install.run(['check']);
  expect(stdout).toMatch(/FAILED {2}ledger: Another process kept the ledger \S+ locked for too long\./);
  expect(stdout).not.toContain('recover');
});

test.each([['check'], ['recover', '--yes']])(
  '%s reports that it could not check the ledger',
  async (...words) => {
    const install = new Install();
    await (await install.ledger()).close();
    vi.stubEnv('NODE_OPTIONS', '--no-such-option'); // the process that looks ends before it has begun
    onTestFinished(() => void vi.unstubAllEnvs());
    const said = await install.run(words);
    expect(said.code).not.toBe(0);
    expect(all(said)).toMatch(/The ledger \S+ could not be checked for damage/);
  },
);

test.each(['SQLITE_CANTOPEN', 'SQLITE_READONLY_DIRECTORY', 'SQLITE_PERM'])(
  'the error of a command that only reads does not mention writing to the ledger: %s',
  (code) => {
    const { message, hint } = toReadingError({ code }, '/backups/ledger.db');
    expect(message).toBe(`The ledger /backups/ledger.db cannot be opened (${code}).`);
    expect(hint).toContain('ledger.db-shm');
  },
);
