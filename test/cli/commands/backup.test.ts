import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { processesOf } from '../../../src/operations/opening/processes.ts';
import { aStorage } from '../../exports/storage.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { Install } from '../an-install.ts';

const HOUR_MS = 3_600_000;

/** An installation whose ledger has two leads and is not open, with other files in its data directory. */
async function anInstall(parts: Readonly<Record<string, unknown>> = {}): Promise<Install> {
  const install = new Install(parts);
  const ledger = await install.listed(1, 2);
  await ledger.recordProgress();
  await ledger.close();
  const at = (path: string) => join(install.folder, 'data', path);
  mkdirSync(at('tokens'));
  writeFileSync(at('erased.jsonl'), '{"source":"main","lead":"7"}\n');
  writeFileSync(at('audit.jsonl'), '{"who":"ada"}\n');
  writeFileSync(at('tokens/main.json'), '{"access_token":"canary-token"}');
  writeFileSync(at('tokens/main.login'), 'A person logged in.\n');
  writeFileSync(at('tokens/sealed.json'), '{"cipher":"aes-256-gcm","data":"c2VhbGVk"}');
  return install;
}

async function aBackup(install: Install): Promise<string> {
  const folder = join(install.folder, 'backups');
  const { code, stderr } = await install.run(['backup', '--to', folder]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return join(folder, readdirSync(folder).toSorted().at(-1) ?? '');
}

function within<T>(file: string, use: (db: Database.Database) => T): T {
  const db = new Database(file);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

function inData({ folder }: Install, path: string): string {
  return join(folder, 'data', path);
}

/** Makes the write-ahead log of a ledger sparse and larger than the free space of any disk. */
function makeLedgerHuge(install: Install): void {
  const log = `${inData(install, 'ledger.db')}-wal`;
  writeFileSync(log, '');
  truncateSync(log, 2 ** 43);
}

/** Changes the ledger inside a backup. */
function edit(backup: string, change: (db: Database.Database) => void): void {
  const plain = `${backup}.plain`;
  writeFileSync(plain, gunzipSync(readFileSync(backup)));
  within(plain, change);
  writeFileSync(backup, gzipSync(readFileSync(plain)));
  rmSync(plain);
}

describe('leadsync backup', () => {
  test('writes one private file named after the time, and lists its contents', async () => {
    const install = await anInstall();
    const folder = join(install.folder, 'backups');
    const { stdout } = await install.run(['backup', '--to', folder]);
    const file = join(folder, 'leadsync-20261120T100000Z.db.gz');
    expect(stdout).toMatch(/: 2 leads, \d+ kB, verified\. It holds personal data\.\n$/);
    expect(stdout).toContain(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['leadsync-20261120T100000Z.db.gz']);
  });

  test('contains what a restore needs, and no unencrypted token', async () => {
    const backup = await aBackup(await anInstall());
    const plain = `${backup}.plain`;
    writeFileSync(plain, gunzipSync(readFileSync(backup)));
    const paths = within(plain, (db) => db.prepare('SELECT path FROM _backup ORDER BY path').pluck().all());
    expect(paths).toEqual([
      'audit.jsonl',
      'backup.json',
      'erased.jsonl',
      'tokens/main.login',
      'tokens/sealed.json',
    ]);
    expect(readFileSync(plain).includes('canary')).toBe(false);
  });

  test('keeps as many backups as --keep allows', async () => {
    const install = await anInstall();
    for (let at = 0; at < 3; at += 1) {
      await install.run(['backup', '--to', join(install.folder, 'b'), '--keep', '2']);
      install.clock.jump(HOUR_MS);
    }
    expect(readdirSync(join(install.folder, 'b'))).toEqual([
      'leadsync-20261120T110000Z.db.gz',
      'leadsync-20261120T120000Z.db.gz',
    ]);
  });

  test('removes no backup within --keep before the new one is complete', async () => {
    const install = await anInstall();
    const folder = join(install.folder, 'b');
    for (let at = 0; at < 3; at += 1) {
      await install.run(['backup', '--to', folder]);
      install.clock.jump(HOUR_MS);
    }
    const [, second, third] = readdirSync(folder);
    makeLedgerHuge(install);
    for (const [keep, kept] of [
      ['2', [second, third]],
      ['2', [second, third]],
      ['1', [third]],
    ] as const) {
      const failed = await install.run(['backup', '--to', folder, '--keep', keep]);
      expect(failed).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/of free space.*\nFree space on the disk, lower `keep`/),
      });
      expect(readdirSync(folder)).toEqual(kept);
    }
  });

  test('names the disk on which a backup to a bucket is prepared', async () => {
    const { options } = await aStorage();
    const install = await anInstall({ backups: { nightly: { ...options, every: '1d' } } });
    makeLedgerHuge(install);
    const { code, stderr } = await install.run(['backup']);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/of free space.*\nFree space on the disk of `data_dir`, where a backup/),
    });
  });

  test('removes only backups with --keep', async () => {
    const install = await anInstall();
    const folder = join(install.folder, 'b');
    mkdirSync(folder);
    const others = ['leadsync-20261101T000000Z.csv', 'leadsync-20261101T000000Z'];
    for (const name of others) writeFileSync(join(folder, name), 'of an export with this name');
    await install.run(['backup', '--to', folder, '--keep', '1']);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(others));
  });

  test('runs a configured backup, which status then shows and restore lists', async () => {
    const install = await anInstall({
      backups: { nightly: { type: 'directory', directory: './n', at: '03:00' } },
    });
    expect(await install.run(['backup', 'nightly'])).toMatchObject({ code: 0 });
    expect((await install.run(['status'])).stdout).toMatch(/BACKUP[^\n]*\nnightly +2 +\d+ kB/);
    const { stdout } = await install.run(['restore']);
    expect(stdout).toBe(`${join(install.folder, 'n', 'nightly-20261120T100000Z.db.gz')}\n`);
    expect(await install.json('status')).toMatchObject({
      exports: [],
      backups: [{ backup: 'nightly', leads: 2, failures: 0 }],
    });
  });

  test('of an older ledger, beside an older daemon, changes nothing', async () => {
    const install = await anInstall();
    const version = (to?: number) =>
      within(inData(install, 'ledger.db'), (db) => {
        if (to !== undefined) db.pragma(`user_version = ${to}`);
        return Number(db.pragma('user_version', { simple: true }));
      });
    const older = version() - 1;
    version(older);
    install.running();
    const backup = await aBackup(install);
    for (const command of [['status'], ['deliveries'], ['query', '@stuck'], ['trace', '1']])
      expect(await install.run(command)).toMatchObject({
        code: expect.not.stringMatching('0'),
        stderr: expect.stringMatching(
          /written by an older leadsync[^\n]*\nOnly `leadsync run` and `leadsync sync` upgrade/,
        ),
      });
    expect(version()).toBe(older);
    expect(existsSync(backup)).toBe(true);
  });

  test.each([
    [['backup'], 2, /The configuration has no backups\.\nAdd `backups:`/],
    [['backup', '--keep', '2'], 2, /--keep needs --to/],
    [['backup', '--to', ''], 2, /--to is empty/],
    [['backup', '--to', 's3:/x'], 2, /not the address of a bucket/],
    [['backup', '--to', 'x', '--keep', '0'], 2, /whole number of 1 or more/],
    [['backup', '--to', '/proc/x'], 1, /\/proc\/x/],
  ])('explains %j', async (args, code, stderr) => {
    const install = await anInstall();
    expect(await install.run(args)).toMatchObject({
      code,
      stderr: expect.stringMatching(stderr),
      stdout: '',
    });
  });

  test('without a ledger creates nothing', async () => {
    const install = new Install();
    expect(await install.run(['backup', '--to', join(install.folder, 'b')])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/There is nothing to back up/),
    });
    expect(readdirSync(install.folder)).toEqual(['leadsync.yaml']);
  });

  test('of a damaged ledger fails, and keeps the earlier backup', async () => {
    const install = await anInstall();
    await aBackup(install);
    install.clock.jump(HOUR_MS);
    const file = inData(install, 'ledger.db');
    within(file, (db) => db.pragma('wal_checkpoint(TRUNCATE)'));
    const bytes = readFileSync(file);
    bytes.fill(0xff, 8_192, 40_960);
    writeFileSync(file, bytes);
    const folder = join(install.folder, 'backups');
    expect(await install.run(['backup', '--to', folder, '--keep', '1'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/damaged/),
    });
    expect(readdirSync(folder)).toEqual(['leadsync-20261120T100000Z.db.gz']);
  });
});

describe('leadsync restore', () => {
  test('without --yes, verifies the backup, prints the consequences, and changes nothing', async () => {
    const install = await anInstall();
    const backup = await aBackup(install);
    const before = readFileSync(inData(install, 'ledger.db'));
    const { code, stdout, stderr } = await install.run(['restore', backup]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /made at 2026-11-20T10:00:00Z.*undamaged\.\n +It has 2 leads of main and 4 deliveries/,
    );
    expect(stdout).toMatch(/It would replace .*ledger\.db/);
    expect(stderr).toMatch(/Nothing was changed\.\n`leadsync restore .* --yes --replace` puts/);
    expect(readFileSync(inData(install, 'ledger.db'))).toEqual(before);
  });

  test('into an empty folder restores everything, readable only for this user', async () => {
    const install = await anInstall();
    const backup = await aBackup(install);
    rmSync(join(install.folder, 'data'), { recursive: true });
    const { code, stdout } = await install.run(['restore', backup, '--yes']);
    expect(code).toBe(0);
    expect(stdout).toContain(
      'Also restored, because they were missing: audit.jsonl, tokens/main.login, tokens/sealed.json.',
    );
    expect(readFileSync(inData(install, 'erased.jsonl'), 'utf8')).toContain('"7"');
    for (const path of ['ledger.db', 'erased.jsonl', 'tokens/sealed.json'])
      expect(statSync(inData(install, path)).mode & 0o777).toBe(0o600);
    const tables = within(inData(install, 'ledger.db'), (db) =>
      db.prepare("SELECT name FROM sqlite_schema WHERE name = '_backup'").all(),
    );
    expect(tables).toEqual([]);
    const ledger = await install.ledger();
    expect(ledger.opening.isCopy).toBe(true);
  });

  test('keeps newer files of the data directory, and the erasures of both', async () => {
    const install = await anInstall();
    const backup = await aBackup(install);
    writeFileSync(inData(install, 'erased.jsonl'), '{"source":"main","lead":"8"}\n');
    writeFileSync(inData(install, 'tokens/sealed.json'), '{"cipher":"aes-256-gcm","data":"bmV3ZXI="}');
    expect(await install.run(['restore', backup, '--yes', '--replace'])).toMatchObject({ code: 0 });
    const erased = readFileSync(inData(install, 'erased.jsonl'), 'utf8');
    expect(['"7"', '"8"'].filter((lead) => erased.includes(lead))).toHaveLength(2);
    expect(readFileSync(inData(install, 'tokens/sealed.json'), 'utf8')).toContain('bmV3ZXI=');
    const kept = readdirSync(join(install.folder, 'data')).filter((name) => name.includes('replaced'));
    expect(kept).toEqual(['ledger.db.replaced-20261120T100000.000Z']);
  });

  test('marks the deliveries that may have arrived since the backup, and leaves no sink with an older content', async () => {
    const install = await anInstall();
    const backup = await aBackup(install);
    install.clock.jump(HOUR_MS);
    expect(await install.run(['restore', backup, '--yes', '--replace'])).toMatchObject({ code: 0 });
    const listed = [
      aListedLead({ id: 1, client_name: 'changed since' }, 0),
      aListedLead({ id: 2 }, 1),
      aListedLead({ id: 3, created_at: '2026-11-20T10:30:00Z' }, 2),
      aListedLead({ id: 4, created_at: '2026-11-20T11:30:00Z' }, 3), // by a clock that is ahead
    ];
    await install.recorded(listed);
    const ledger = await install.recorded([
      ...listed,
      aListedLead({ id: 5, created_at: '2026-11-20T10:30:00Z' }, 4),
      aListedLead({ id: 6, created_at: '2026-11-20T11:30:00Z' }, 5),
    ]);
    const { refs } = await ledger.claim({ sink: 'crm', window: 1, max: 9, waitMs: 0, leaseMs: HOUR_MS });
    const batch = (await ledger.begin(refs[0] ?? expect.fail('nothing is due'), HOUR_MS))?.batch;
    const seen = batch?.deliveries.map(({ leadId, version, mayHaveArrived }) => [
      Number(leadId),
      version,
      mayHaveArrived === true,
    ]);
    expect(seen?.sort()).toEqual([
      [1, 2, true],
      [2, 1, true],
      [3, 1, true],
      [4, 1, true],
      [5, 1, true],
      [6, 1, false],
    ]);
  });

  test('replaces a file that is no longer a ledger', async () => {
    const install = await anInstall();
    const backup = await aBackup(install);
    writeFileSync(inData(install, 'ledger.db'), 'x'.repeat(10_000));
    expect(await install.run(['restore', backup, '--yes', '--replace'])).toMatchObject({ code: 0 });
    const kept = readdirSync(join(install.folder, 'data')).filter((name) => name.includes('replaced'));
    expect(kept).not.toEqual([]);
    expect((await install.run(['query', 'SELECT count(*) FROM leads'])).stdout).toContain('2');
  });

  test('makes the ledger private although the copy is readable by everyone', async () => {
    const install = await anInstall();
    const copy = join(install.folder, 'copy.db');
    within(inData(install, 'ledger.db'), (db) => db.prepare('VACUUM INTO ?').run(copy));
    chmodSync(copy, 0o644);
    expect(await install.run(['restore', copy, '--yes', '--replace'])).toMatchObject({ code: 0 });
    expect(statSync(inData(install, 'ledger.db')).mode & 0o777).toBe(0o600);
  });

  test('rolls an upgrade back to the copy from before it', async () => {
    const install = await anInstall();
    const file = inData(install, 'ledger.db');
    const copy = `${file}.before-schema-99`;
    within(file, (db) => db.prepare('VACUUM INTO ?').run(copy));
    within(file, (db) => db.pragma('user_version = 99')); // a newer leadsync has upgraded it
    expect(await install.run(['status'])).toMatchObject({
      stderr: expect.stringMatching(/written by a newer leadsync/),
    });
    expect(await install.run(['restore', copy, '--yes', '--replace'])).toMatchObject({ code: 0 });
    expect(await install.run(['query', 'SELECT count(*) FROM leads'])).toMatchObject({ code: 0 });
  });

  const WRONG: readonly [string, (backup: string, install: Install) => string, RegExp][] = [
    ['is not there', (backup) => `${backup}x`, /There is no backup at .*\nCheck the name/],
    ['is a folder', (_, { folder }) => folder, /is a folder, and not a leadsync backup/],
    [
      'is something else',
      (backup) => {
        writeFileSync(backup, 'hello');
        return backup;
      },
      /is not a leadsync backup\.\nName a file that `leadsync backup` wrote/,
    ],
    [
      'is another file that was compressed',
      (backup) => {
        writeFileSync(backup, gzipSync('hello'));
        return backup;
      },
      /is not a leadsync backup/,
    ],
    [
      'is longer than its ledger, and would fill the disk',
      (backup) => {
        const plain = gunzipSync(readFileSync(backup));
        writeFileSync(backup, gzipSync(Buffer.concat([plain, Buffer.alloc(20_000_000)])));
        return backup;
      },
      /is damaged: it contains data after the end of the ledger/,
    ],
    [
      'is cut in half',
      (backup) => {
        truncateSync(backup, Math.floor(statSync(backup).size / 2));
        return backup;
      },
      /is incomplete or damaged \(Z_BUF_ERROR\)\.\nCopy it again/,
    ],
    [
      'has wrong bytes',
      (backup) => {
        const bytes = readFileSync(backup);
        bytes.fill(0x5a, 2_000, 2_064);
        writeFileSync(backup, bytes);
        return backup;
      },
      /is incomplete or damaged \(Z_/,
    ],
    [
      'comes from a newer version',
      (backup) => {
        edit(backup, (db) => db.pragma('user_version = 99'));
        return backup;
      },
      /was written by a newer version of leadsync\.\nInstall that version/,
    ],
    [
      'comes from another installation with other sources',
      (backup, install) => {
        install.configure({
          sources: { north: { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: 'secret' } },
        });
        return backup;
      },
      /has leads of main, but the configuration has the sources north[^\n]*\nChoose a backup of this installation/,
    ],
    [
      'comes from another installation with the same sources',
      (backup) => {
        edit(backup, (db) => db.exec("UPDATE _ledger SET id = 'another'"));
        return backup;
      },
      /backup of a ledger that this data directory has never had/,
    ],
  ];

  test.each(WRONG)('rejects a backup that %s, and changes nothing', async (_, make, stderr) => {
    const install = await anInstall();
    const backup = make(await aBackup(install), install);
    const before = readFileSync(inData(install, 'ledger.db'));
    const { code, stderr: said, stdout } = await install.run(['restore', backup, '--yes', '--replace']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(said).toMatch(stderr);
    expect(readFileSync(inData(install, 'ledger.db'))).toEqual(before);
    expect(readdirSync(join(install.folder, 'data')).filter((name) => name.includes('rest'))).toEqual([]);
  });

  test('rejects the files of an unfinished restore, and does not remove them', async () => {
    const install = await anInstall();
    const left = inData(install, 'ledger.db.restoring');
    within(inData(install, 'ledger.db'), (db) => db.prepare('VACUUM INTO ?').run(left));
    const before = readFileSync(left);
    for (const path of [left, join(install.folder, 'linked')]) {
      if (path !== left) symlinkSync(left, path);
      expect(await install.run(['restore', path, '--yes', '--replace'])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/what an unfinished restore has left behind.*\nName the backup/),
      });
      expect(readFileSync(left)).toEqual(before);
    }
  });

  test('notices a worker that starts while the backup is verified', async () => {
    const install = await anInstall();
    const backup = await aBackup(install);
    const before = readFileSync(inData(install, 'ledger.db'));
    let worker: Promise<{ release(): void }> | undefined;
    const watcher = watch(inData(install, ''), (_, name) => {
      if (name === 'ledger.db.restoring') worker ??= processesOf(inData(install, '')).join('worker1');
    });
    expect(await install.run(['restore', backup, '--yes', '--replace'])).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/A worker uses the data directory/),
    });
    watcher.close();
    (await worker)?.release();
    expect(readFileSync(inData(install, 'ledger.db'))).toEqual(before);
  });

  test('refuses while leadsync runs, and over a ledger without --replace', async () => {
    const install = await anInstall();
    const backup = await aBackup(install);
    expect(await install.run(['restore', backup, '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/which the backup would replace\.\nAdd --replace/),
    });
    install.running();
    expect(await install.run(['restore', backup, '--yes', '--replace'])).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/Another leadsync holds the data directory/),
    });
  });

  test('with --other-installation, accepts the backup of another one', async () => {
    const install = await anInstall();
    const backup = await aBackup(install);
    edit(backup, (db) => db.exec("UPDATE _ledger SET id = 'another'"));
    const args = ['restore', backup, '--yes', '--replace', '--other-installation'];
    expect(await install.run(args)).toMatchObject({ code: 0 });
  });
});
