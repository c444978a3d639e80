import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { holdDataDir } from '../../../src/operations/opening/open-ledger.ts';
import { processesOf } from '../../../src/operations/opening/processes.ts';
import { aUsedLedger, rowsOf, withLedger } from '../../ledger/recovery/a-used-ledger.ts';
import { overwritePage, PageMap } from '../../ledger/recovery/damage.ts';
import { Install } from '../an-install.ts';

let install: Install;
let file: string;
let dataDir: string;

beforeEach(async () => {
  install = new Install();
  dataDir = join(install.folder, 'data');
  mkdirSync(dataDir);
  file = join(dataDir, 'ledger.db');
  copyFileSync((await aUsedLedger()).file, file);
});

function damage(name: string): void {
  const map = new PageMap(file);
  map.overwrite([map.of(name, 'leaf')[0]?.pageno ?? 0]);
}

const files = () =>
  readdirSync(dataDir).filter((name) => name.startsWith('ledger.db') && !/-(wal|shm)$/.test(name));

test('without --yes, prints what it would recover, and changes nothing', async () => {
  damage('_versions');
  const before = readFileSync(file);
  const { code, stdout, stderr } = await install.run(['recover']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/ledger\.db is damaged/);
  expect(stdout).toMatch(/_versions +\d+ +[1-9]/);
  expect(stdout).toMatch(
    /The recovered ledger has 118 leads \(3 erased\), 4 sinks, and deliveries: \d+ pending, /,
  );
  expect(stdout).toMatch(/The text of \d+ lead versions is lost/);
  expect(stderr).toMatch(/^Nothing was changed\.\n`leadsync recover --yes` replaces/);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(files()).toEqual(['ledger.db']);
});

test('prints its progress only on a terminal', async () => {
  damage('_versions');
  const { stderr } = await install.run(['recover'], { stderrColumns: 80 });
  expect(stderr).toMatch(/^Checking the whole file for damage …\r/);
  expect(stderr).toMatch(/_ledger: 1 rows copied, \d+ rows\/s\r/);
  expect((await install.run(['recover'])).stderr).not.toMatch(/copied|Checking/);
});

test('puts the recovered ledger in place with --yes, keeps the damaged one, and finds nothing more to do', async () => {
  damage('_deliveries');
  const before = readFileSync(file);
  const { code, stdout, stderr } = await install.run(['recover', '--yes']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/ledger\.db is now the recovered ledger\. Start leadsync and its workers again\./);
  const aside = 'ledger.db.damaged-20261120T100000.000Z';
  expect(stdout).toContain(`${aside} is the damaged ledger.`);
  expect(files().sort()).toEqual(['ledger.db', aside]);
  expect(readFileSync(join(dataDir, aside)).equals(before)).toBe(true);
  expect(rowsOf(file, 'SELECT 1 FROM _leads')).toHaveLength(118);
  const again = await install.run(['recover', '--yes']);
  expect(again).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/is undamaged: there is nothing to recover/),
  });
  expect(files().sort()).toEqual(['ledger.db', aside]);
});

test('prints no text of a lead, even as JSON', async () => {
  damage('_versions');
  const printed = [await install.run(['recover']), await install.run(['recover', '--yes', '--json'])];
  for (const { stdout, stderr } of printed)
    expect(stdout + stderr).not.toMatch(/example\.com|First|Second|Zaphod/);
  expect(JSON.parse(printed[1]?.stdout ?? '')).toMatchObject({
    sound: false,
    exchanged: true,
    leads: 118,
    leads_without_text: expect.any(Number),
    kept_as: expect.stringContaining('damaged-'),
  });
});

test('refuses while a leadsync holds the data directory, or a worker is alive', async () => {
  damage('_versions');
  const held = holdDataDir(dataDir);
  expect(await install.run(['recover', '--yes'])).toMatchObject({ code: 75, stdout: '' });
  held.release();
  const life = await processesOf(dataDir).join('worker1');
  expect(await install.run(['recover', '--yes'])).toMatchObject({
    code: 75,
    stderr: expect.stringMatching(/worker/),
  });
  life.release();
  expect(await install.run(['recover', '--yes'])).toMatchObject({ code: 0 });
});

test('without a ledger or its first page, or for another file, prints the next step', async () => {
  new PageMap(file).overwrite([1]);
  const noPage = await install.run(['recover', '--yes']);
  expect(noPage).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/first pages.*\n.*ledger accept/),
  });
  writeFileSync(file, 'leads\n'.repeat(10_000));
  expect(await install.run(['recover', '--yes'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('ledger accept'),
  });
  truncateSync(file);
  expect(await install.run(['recover'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/missing or empty/),
  });
  expect(files()).toEqual(['ledger.db']);
});

test('recovers a ledger whose list of tables is damaged, and prints which tables are lost', async () => {
  const map = new PageMap(file);
  map.overwrite([map.of('sqlite_schema', 'leaf')[2]?.pageno ?? 0]);
  const { code, stdout } = await install.run(['recover', '--yes']);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/_client_keys +0 +1\n/) });
  expect(stdout).toMatch(/The recovered ledger has 118 leads \(3 erased\), 4 sinks,/);
  expect(await install.run(['recover'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/is undamaged/),
  });
});

test('the recovered ledger belongs to the user that the damaged one belongs to', async () => {
  damage('polls');
  const nobody = 65_534;
  const owner = process.geteuid?.() === 0 ? nobody : statSync(file).uid; // only root can give a file away
  chownSync(file, owner, statSync(file).gid);
  expect(await install.run(['recover', '--yes'])).toMatchObject({ code: 0 });
  expect(statSync(file)).toMatchObject({ uid: owner });
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('recovers a truncated file up to its end', async () => {
  truncateSync(file, Math.floor(readFileSync(file).length * 0.8));
  expect(await install.run(['recover', '--yes'])).toMatchObject({ code: 0 });
  expect(rowsOf(file, 'SELECT 1 FROM _leads').length).toBeGreaterThan(60);
});

test('recovers the last writes, which only the write-ahead log contains, as well', async () => {
  withLedger(file, (db) => {
    db.pragma('journal_mode = WAL');
    db.exec("UPDATE _sources SET origin = 'http://127.0.0.1:9'");
    for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${file}.killed${end}`);
  });
  for (const end of ['', '-wal']) copyFileSync(`${file}.killed${end}`, `${file}${end}`);
  const map = rowsOf(
    `${file}.killed`,
    "SELECT pageno FROM dbstat WHERE name = 'polls' AND pagetype = 'leaf'",
  );
  overwritePage(file, Number(map[0]?.['pageno']));
  expect(await install.run(['recover', '--yes'])).toMatchObject({ code: 0 });
  expect(existsSync(`${file}-wal`)).toBe(false); // before anything opens the file
  const aside = join(dataDir, 'ledger.db.damaged-20261120T100000.000Z');
  for (const one of [file, aside])
    expect(rowsOf(one, 'SELECT origin FROM _sources')).toEqual([{ origin: 'http://127.0.0.1:9' }]);
});
