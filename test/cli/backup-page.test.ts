import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { Install } from './an-install.ts';

const page = readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8');

/** The file that the page restores. The clock of the tests stands at the time in its name. */
const BACKUP = 'backups/leadsync-20261120T100000Z.db.gz';
const UPGRADED = 'data/ledger.db.before-schema-N';

/** What stands before `leadsync` elsewhere, and the commands that start and stop a supervised leadsync. */
const ELSEWHERE =
  /^(?:docker compose (?:exec leadsync |run --rm (?=leadsync ))|kubectl -n leadsync exec deploy\/leadsync -- |sudo -u leadsync )/;
const SUPERVISOR = /^(?:docker compose|sudo systemctl) (?:stop|start) leadsync$/;
/** Commands that answer by exit code 1 that nothing was changed, or that this service cannot be reached. */
const EXIT_1 = /^restore \S+$/;
const CHECK = /^check$/;

/** Returns the lines of each block of commands in a section of the page. */
function blocksOf(section: string): string[][] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  return [...text.matchAll(/```sh\n([^`]+?) *```/g)].map(([, block = '']) =>
    block
      .split('\n')
      .map((line) => line.replace(/ {2,}#.*$/, '').trim())
      .filter((line) => line !== ''),
  );
}

/** An installation with two leads, a backup of it, and a copy as an upgrade leaves it. Nothing runs. */
async function anInstall(): Promise<Install> {
  const yaml = /```yaml\n([^`]+)```/.exec(page)?.[1] ?? '';
  const { nightly } = parse(yaml).backups;
  const install = new Install({ backups: { nightly: { ...nightly, directory: './nightly' } } });
  const ledger = await install.listed(1, 2);
  await ledger.close();
  mkdirSync(join(install.folder, 'backups'));
  expect(await install.run(['backup', '--to', join(install.folder, 'backups')])).toMatchObject({ code: 0 });
  const db = new Database(join(install.folder, 'data/ledger.db'));
  db.prepare('VACUUM INTO ?').run(join(install.folder, UPGRADED));
  db.close();
  return install;
}

/** Runs a line of the page in the folder of an installation. */
async function runLine(install: Install, line: string): Promise<void> {
  if (SUPERVISOR.test(line)) return;
  const typed = line.replace(ELSEWHERE, '').replace(/^leadsync /, '');
  if (typed === line) {
    execFileSync('sh', ['-e', '-c', line], { cwd: install.folder });
    return;
  }
  install.clock.jump(1_000); // two backups of one second would have one name
  const args = typed
    .split(' ')
    .map((word) => (/^(?:data|backups)\b/.test(word) ? join(install.folder, word) : word));
  const { code, stderr } = await install.run(args);
  if (CHECK.test(typed)) expect(stderr).not.toMatch(/damaged/);
  else
    expect({ typed, code, stderr: code === 0 || EXIT_1.test(typed) ? '' : stderr }).toEqual({
      typed,
      code: EXIT_1.test(typed) ? 1 : 0,
      stderr: '',
    });
}

function leadsIn(install: Install, folder = 'data'): unknown {
  const db = new Database(join(install.folder, folder, 'ledger.db'), { readonly: true });
  try {
    return db.prepare('SELECT count(*) FROM leads').pluck().get();
  } finally {
    db.close();
  }
}

describe('docs/backup.md', () => {
  test('every block of commands stands in a section that this test runs', () => {
    const sections = ['Back up', 'Restore', 'Move', 'Roll back', 'In containers and under systemd'];
    expect(sections.flatMap(blocksOf)).toHaveLength(page.match(/```sh\n/g)?.length ?? 0);
  });

  test('backs up by the commands it shows', async () => {
    const install = await anInstall();
    for (const line of blocksOf('Back up').flat()) await runLine(install, line);
    expect(readdirSync(join(install.folder, 'backups'))).toHaveLength(3);
    expect(readdirSync(join(install.folder, 'nightly'))).toHaveLength(1);
  });

  test('restores by the commands it shows, and by hand', async () => {
    const install = await anInstall();
    copyFileSync(join(install.folder, BACKUP), join(install.folder, 'kept'));
    await runLine(install, 'leadsync backup nightly');
    const [restore = [], byHand = []] = blocksOf('Restore');
    for (const line of restore) await runLine(install, line);
    expect(leadsIn(install)).toBe(2);
    for (const line of byHand) await runLine(install, line);
    expect(statSync(join(install.folder, 'data/ledger.db')).mode & 0o777).toBe(0o600);
    expect((await install.run(['status'])).stdout).toMatch(/main +2 /);
  });

  test('moves an installation, and restores a lost one', async () => {
    const install = await anInstall();
    for (const line of blocksOf('Move').flat()) await runLine(install, line);
    expect([leadsIn(install), leadsIn(install, 'moved-data'), leadsIn(install, 'lost-data')]).toEqual([
      2, 2, 2,
    ]);
  });

  test('rolls a newer ledger back to the copy that its upgrade made', async () => {
    const install = await anInstall();
    const db = new Database(join(install.folder, 'data/ledger.db'));
    db.pragma('user_version = 99');
    db.close();
    for (const line of blocksOf('Roll back').flat()) await runLine(install, line);
    expect((await install.run(['status'])).stdout).toMatch(/main +2 /);
  });

  test('shows the same for containers and systemd', async () => {
    for (const block of blocksOf('In containers and under systemd')) {
      const install = await anInstall();
      for (const line of block) await runLine(install, line);
      expect(leadsIn(install)).toBe(2);
    }
  });

  test('shows backups that a configuration accepts', async () => {
    const install = new Install(parse(/```yaml\n([^`]+)```/.exec(page)?.[1] ?? ''));
    expect(await install.run(['validate'])).toMatchObject({ code: 0 });
  });
});
