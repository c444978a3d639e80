import { chownSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { disk, makeFolderDurably, writeFileDurably } from '../../../src/platform/files/file-system.ts';
import { FolderDrop } from '../../../src/sinks/drop/folder-drop.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { Install } from '../an-install.ts';

// An administrator runs commands as root, and the daemon runs as another user, who owns the data directory.

const NOBODY = 65_534;

/** A data directory of another user, where this process may give one away. */
function foreign(folder: string): { readonly dataDir: string; readonly owner: number } {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const owner = process.geteuid?.() === 0 ? NOBODY : statSync(dataDir).uid; // only root can give a folder away
  chownSync(dataDir, owner, statSync(dataDir).gid);
  return { dataDir, owner };
}

/** The owner of every file and folder below, by its path. */
function owners(dataDir: string): Record<string, number> {
  const paths = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(paths.map((path) => [path, statSync(join(dataDir, path)).uid]));
}

test('the files that `ledger accept` creates belong to the owner of the data directory', async () => {
  const install = new Install();
  const { dataDir, owner } = foreign(install.folder);
  expect(await install.run(['ledger', 'accept'])).toMatchObject({ code: 0 });
  expect(owners(dataDir)).toEqual({ 'audit.jsonl': owner, 'ledger.db': owner, lock: owner });
});

test('so does what `recover` leaves', async () => {
  const install = new Install();
  const { dataDir, owner } = foreign(install.folder);
  await (await install.ledger()).startPoll('main');
  expect(await install.run(['recover'])).toMatchObject({ code: 0 });
  expect(new Set(Object.values(owners(dataDir)))).toEqual(new Set([owner]));
  expect(owners(dataDir)).toHaveProperty('lock');
});

test('so does what `backup` and `restore` leave', async () => {
  const install = new Install();
  const { dataDir, owner } = foreign(install.folder);
  await (await install.listed(1)).close();
  for (const path of readdirSync(dataDir)) chownSync(join(dataDir, path), owner, statSync(dataDir).gid);
  mkdirSync(join(dataDir, 'tokens'));
  writeFileSync(join(dataDir, 'tokens', 'main.login'), 'A person logged in.\n');
  chownSync(join(dataDir, 'tokens'), owner, statSync(dataDir).gid);
  const to = join(install.folder, 'backups');
  expect(await install.run(['backup', '--to', to])).toMatchObject({ code: 0 });
  rmSync(join(dataDir, 'tokens'), { recursive: true });
  const backup = join(to, readdirSync(to)[0] ?? '');
  expect(await install.run(['restore', backup, '--yes', '--replace'])).toMatchObject({ code: 0 });
  expect(Object.entries(owners(dataDir)).filter(([, one]) => one !== owner)).toEqual([]);
  expect(owners(dataDir)).toHaveProperty('exports');
  expect(owners(dataDir)).toHaveProperty(['tokens/main.login']);
});

test('so do the state, the folder and the files of an export, so that the next run of the daemon can replace them', async () => {
  const exports = {
    nightly: { type: 'directory', directory: './data/out', tables: ['leads', 'polls'], every: '1d' },
  };
  const install = new Install({ exports });
  const { dataDir, owner } = foreign(install.folder);
  await install.listed(1);
  expect(await install.run(['export', '--name', 'nightly'])).toMatchObject({ code: 0 });
  expect(Object.entries(owners(dataDir)).filter(([, one]) => one !== owner)).toEqual([]);
  expect(owners(dataDir)).toHaveProperty(['exports/nightly.json']);
  expect(owners(dataDir)).toHaveProperty(['out/nightly-20261120T100000Z/leads.parquet']);
});

test('so do the folder and the files of a sink that writes files', async () => {
  const { dataDir, owner } = foreign(new Install().folder);
  const drop = new FolderDrop(join(dataDir, 'drop'), { clock: new HeldClock(), timeoutMs: 60_000 }, disk);
  await drop.write('day=2026-11-20/leads.csv', Buffer.from('id'), new AbortController().signal);
  const [folder, file] = ['drop/day=2026-11-20', 'drop/day=2026-11-20/leads.csv'];
  expect(owners(dataDir)).toEqual({ drop: owner, [folder]: owner, [file]: owner });
});

test('so do the folder and the file of a token', async () => {
  const install = new Install();
  const { dataDir, owner } = foreign(install.folder);
  const folder = join(dataDir, 'tokens');
  await makeFolderDurably(disk, folder, 0o700);
  await writeFileDurably(disk, join(folder, 'main.json'), Buffer.from('{}'), 0o600);
  expect(owners(dataDir)).toEqual({ tokens: owner, 'tokens/main.json': owner });
});
