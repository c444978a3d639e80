import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { MappedValue } from '../../../src/leads/mapped-fields.ts';
import { disk, type Files } from '../../../src/platform/files/file-system.ts';
import { LeaseOver, SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { openCsv } from './open-csv.ts';

const README = join(import.meta.dirname, '../../../src/sinks/csv/README.md');
const NEVER = new AbortController().signal;
const NAME = 'leads-20261120T100001.000Z-b0000000000000001.csv';

const diskError = (code: string) => Object.assign(new Error(`${code}: simulated`), { code });
const failing = (code: string) => () => Promise.reject(diskError(code));
const visible = (directory: string) => readdirSync(directory).filter((name) => !name.startsWith('.'));
const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error as SinkUnavailable,
  );

describe('a file', () => {
  test('is named after its batch, and has the documented columns and line endings', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(aBatch(1), NEVER);
    expect(readdirSync(directory)).toEqual([NAME]);
    expect(readFileSync(join(directory, NAME), 'utf8')).toBe(
      [
        'id,service_name,service_slug,created_at,client_name,client_email,client_phone_number,client_address,' +
          'service_question_answers,all_details_one_liner,_leadsync_source,_leadsync_first_seen_at,_leadsync_delivery_id',
        '1,House Cleaning,house-cleaning,2026-11-20T09:59:30.000Z,Anna Müller,anna.mueller@example.com,' +
          '+49 151 23456789,"Footscray, VIC, 3011","[{""question"":""How many bedrooms are there?"",""slug"":""bedrooms"",' +
          '""answer"":""3""},{""question"":""Anything else?"",""slug"":""anything_else"",""answer"":""Two cats,\\none \\""dog\\""""}]",' +
          '"How many bedrooms are there?\n3\nAnything else?\nTwo cats,\none ""dog""\n--\nAddress: Footscray, VIC, 3011\n",' +
          'main,2026-11-20T10:00:00.000Z,dlv_1_1',
        '',
      ].join('\r\n'),
    );
  });

  test('begins with a byte-order mark if it is configured', async () => {
    const directory = tempDir();
    await openCsv({ directory, bom: true }).deliver(aBatch(1), NEVER);
    expect(readFileSync(join(directory, NAME)).subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
  });

  test('is not readable for other users', async () => {
    const directory = join(tempDir(), 'new', 'drop');
    await openCsv({ directory }).deliver(aBatch(1), NEVER);
    expect(statSync(join(directory, NAME)).mode & 0o007).toBe(0);
    expect(statSync(directory).mode & 0o007).toBe(0);
  });

  test('that exists with the same content is not written again', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(aBatch(2), NEVER);
    const before = statSync(join(directory, NAME));
    await openCsv({ directory }).deliver(aBatch(2), NEVER);
    const after = statSync(join(directory, NAME));
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
  });

  test('of the same batch with other content is replaced as a whole', async () => {
    const directory = tempDir();
    writeFileSync(join(directory, NAME), 'half a fi');
    await openCsv({ directory }).deliver(aBatch(2), NEVER);
    expect(parse(readFileSync(join(directory, NAME)), { columns: true })).toHaveLength(2);
  });

  test('is never visible in part to a reader that reads repeatedly', async () => {
    const directory = tempDir();
    const seen = new Set<number>();
    const look = () => {
      for (const name of visible(directory))
        seen.add(parse(readFileSync(join(directory, name)), { columns: true }).length);
    };
    const each =
      <Args extends unknown[], T>(step: (...args: Args) => Promise<T>) =>
      async (...args: Args) => {
        look();
        const result = await step(...args);
        look();
        return result;
      };
    const files: Files = {
      ...disk,
      create: each(async (path, mode) => {
        const file = await disk.create(path, mode);
        const write = async (data: Uint8Array) => {
          for (let at = 0; at < data.length; at += 5_000) {
            await file.write(data.subarray(at, at + 5_000));
            look();
          }
        };
        return { write, sync: each(file.sync), close: each(file.close) };
      }),
      rename: each(disk.rename),
      syncFolder: each(disk.syncFolder),
    };
    await openCsv({ directory }, files).deliver(aBatch(100), NEVER);
    expect([...seen]).toEqual([100]);
  });
});

describe('a slow disk', () => {
  test.each(['sync', 'close'] as const)(
    'on which the lease of the attempt ends in the %s of a file leaves no visible file',
    async (step) => {
      const directory = tempDir();
      let isOver = false;
      const create: Files['create'] = async (path, mode) => {
        const file = await disk.create(path, mode);
        const slow = () => {
          isOver = true;
          return file[step]();
        };
        return { ...file, [step]: slow };
      };
      const confirmLease = () => {
        if (isOver) throw new LeaseOver();
      };
      const under = { timeLeftMs: () => 60_000, confirmLease };
      const sink = openCsv({ directory }, { ...disk, create });
      expect(await failure(sink.deliver(aBatch(2), NEVER, under))).toBeInstanceOf(LeaseOver);
      expect(readdirSync(directory)).toEqual([]);
    },
  );
});

describe('a broken disk', () => {
  const broken: [string, string, () => Partial<Files>][] = [
    ['full when the file is made', 'ENOSPC', () => ({ create: failing('ENOSPC') })],
    ['full when it is written', 'ENOSPC', () => ({ create: brokenFile('write', 'ENOSPC') })],
    ['full when it is synced', 'ENOSPC', () => ({ create: brokenFile('sync', 'ENOSPC') })],
    ['failing when it is synced', 'EIO', () => ({ create: brokenFile('sync', 'EIO') })],
    ['failing when it is closed', 'EIO', () => ({ create: brokenFile('close', 'EIO') })],
    ['full when it is renamed', 'ENOSPC', () => ({ rename: failing('ENOSPC') })],
    ['read-only', 'EROFS', () => ({ create: failing('EROFS') })],
    ['not ours', 'EACCES', () => ({ create: failing('EACCES') })],
    ['unreadable', 'EIO', () => ({ read: failing('EIO') })],
  ];

  function brokenFile(step: 'write' | 'sync' | 'close', code: string): Files['create'] {
    return async (path, mode) => {
      const file = await disk.create(path, mode);
      if (step !== 'close') return { ...file, [step]: failing(code) };
      return { ...file, close: () => file.close().then(failing(code)) };
    };
  }

  test.each(broken)(
    'that is %s leaves no visible file, is reported with %s, and delays no later attempt',
    async (_, code, how) => {
      const directory = tempDir();
      const faulty = { ...disk };
      const sink = openCsv({ directory }, faulty);
      Object.assign(faulty, how());
      const error = await failure(sink.deliver(aBatch(2), NEVER));
      expect(error).toBeInstanceOf(SinkUnavailable);
      expect(error.message).toContain(directory);
      expect(error.message).toContain(code);
      expect(readdirSync(directory)).toEqual([]);
      Object.assign(faulty, disk);
      await sink.deliver(aBatch(2), NEVER);
      expect(readdirSync(directory)).toEqual([NAME]);
    },
  );

  test('that fails to sync the folder delivers nothing; the repeat syncs the same file', async () => {
    const directory = tempDir();
    const synced: string[] = [];
    const fails = failing('EIO') as Files['syncFolder'];
    const syncFolder = (path: string) => (path === directory ? fails(path) : disk.syncFolder(path));
    const faulty = { ...disk, syncFolder };
    const sink = openCsv({ directory }, faulty);
    expect(await failure(sink.deliver(aBatch(1), NEVER))).toBeInstanceOf(SinkUnavailable);
    faulty.syncFolder = async (path) => void synced.push(path);
    await sink.deliver(aBatch(1), NEVER);
    expect(synced).toEqual([directory]);
    expect(readdirSync(directory)).toEqual([NAME]);
  });

  test('that takes too long ends the attempt at its deadline', async () => {
    const directory = tempDir();
    const sink = openCsv(
      { directory },
      { ...disk, rename: () => new Promise(() => undefined) },
      { timeoutMs: 100 },
    );
    expect((await failure(sink.deliver(aBatch(1), NEVER))).message).toContain('took longer than 0.1 s');
    expect(visible(directory)).toEqual([]);
  });
});

describe('the folder', () => {
  test('that vanishes is not created again, because it may be a mount point', async () => {
    const directory = join(tempDir(), 'drop');
    const sink = openCsv({ directory });
    await sink.deliver(aBatch(1), NEVER);
    rmSync(directory, { recursive: true });
    expect((await failure(sink.deliver(aBatch(1), NEVER))).message).toBe(
      `The folder ${directory} is gone (ENOENT).`,
    );
    expect(existsSync(directory)).toBe(false);
    mkdirSync(directory);
    await sink.deliver(aBatch(1), NEVER);
    expect(readdirSync(directory)).toEqual([NAME]);
  });

  test.each([
    [
      'beneath a file',
      (folder: string) => join(folder, 'file', 'drop'),
      /is beneath a file|its parent is not a folder/,
    ],
    [
      'where the file system has no folders',
      () => '/proc/x/drop',
      /cannot be created: .* does not allow a folder there/,
    ],
  ])(
    'that cannot be created %s is not reported as vanished, and fails its check',
    async (_, where, words) => {
      const folder = tempDir();
      const directory = where(folder);
      if (directory.startsWith('/proc') && !existsSync('/proc/self'))
        return void process.stderr.write('There is no /proc here: not tested.\n');
      writeFileSync(join(folder, 'file'), '');
      const sink = openCsv({ directory });
      for (const work of [() => sink.check(NEVER), () => sink.deliver(aBatch(1), NEVER)]) {
        const { message } = await failure(work());
        expect(message).toMatch(words);
        expect(message).toContain(`The folder ${directory} `);
      }
    },
  );

  test('that cannot be created because its parent is not writable fails its check with that reason', async () => {
    const above = tempDir();
    const probeFolder = (path: string) => (path === above ? failing('EACCES')() : disk.probeFolder(path));
    const sink = openCsv({ directory: join(above, 'drop') }, { ...disk, probeFolder });
    expect((await failure(sink.check(NEVER))).message).toBe(
      `The folder ${join(above, 'drop')} cannot be created: leadsync may not write to its parent folder (EACCES).`,
    );
  });

  test('is not created by a check', async () => {
    const directory = join(tempDir(), 'not', 'there');
    await openCsv({ directory }).check(NEVER);
    expect(existsSync(directory)).toBe(false);
  });

  test('that is not writable fails its check', async () => {
    const directory = tempDir();
    const error = await failure(
      openCsv({ directory }, { ...disk, probeFolder: failing('EACCES') }).check(NEVER),
    );
    expect(error.message).toBe(`The folder ${directory} is not writable by leadsync (EACCES).`);
  });

  test('is cleared of the temporary files of killed attempts, and of no others', async () => {
    const directory = tempDir();
    const old = new Date(Date.now() - 2 * 60_000);
    const other = 'leads-20261120T100001.000Z-b0000000000000002.csv';
    const names = {
      ownYoung: `.${NAME}.0123456789abcdef.tmp`,
      old: `.${other}.0123456789abcdef.tmp`,
      young: `.${other}.fedcba9876543210.tmp`,
      foreign: '.leads.tmp',
      file: 'leads-old.csv',
    };
    for (const name of Object.values(names)) writeFileSync(join(directory, name), '');
    for (const name of [names.old, names.foreign, names.file]) utimesSync(join(directory, name), old, old);
    await openCsv({ directory }, disk, { timeoutMs: 5_000 }).deliver(aBatch(1), NEVER);
    expect(readdirSync(directory).sort()).toEqual([names.young, names.foreign, NAME, names.file].sort());
  });

  test('is read back without a named pipe in it', async () => {
    const directory = tempDir();
    const sink = openCsv({ directory });
    await sink.deliver(aBatch([aDelivery({ id: 'drop:main:1:1:cafe', leadId: 1n })]), NEVER);
    const pipe = join(directory, 'leads-0.csv');
    execFileSync('mkfifo', [pipe]);
    // Writes the lead to the pipe once a reader opens it, so that a sink that opens it fails the test instead of hanging it.
    const writer = spawn('sh', ['-c', 'cat "$0" > "$1"', join(directory, NAME), pipe]);
    onTestFinished(() => void writer.kill());
    const held = [];
    for await (const { leadId } of sink.storedLeads(NEVER)) held.push(leadId);
    expect(held).toEqual([1n]);
  });
});

test('the query of the README reads files with any form of times in DuckDB, and changes no text', async () => {
  const directory = tempDir();
  const sink = openCsv({ directory });
  const times = ['2026-11-20T10:00:00.000Z', 'at noon', '2026-11-20T10:00:00+11:00'];
  for (const [at, created_at] of times.entries()) {
    const leadId = 9_007_199_254_740_993n + BigInt(at);
    const raw = aLead({ created_at, client_phone_number: '0412345678' });
    await sink.deliver({ ...aBatch([aDelivery({ leadId, raw })]), id: `b${at + 1}` }, NEVER);
  }
  const sql = /```sql\n([^`]+)```/.exec(readFileSync(README, 'utf8'))?.[1] ?? '';
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const duck = await instance.connect();
  await duck.run("SET TimeZone = 'UTC'");
  const rows = await duck.runAndReadAll(sql.replace("'drop/", `'${directory}/`));
  const read = rows
    .getRowObjectsJson()
    .toSorted((a, b) => Number(BigInt(String(a['id'])) - BigInt(String(b['id']))));
  duck.closeSync();
  instance.closeSync();
  expect(read).toMatchObject([
    { id: '9007199254740993', created_at: '2026-11-20 10:00:00+00' },
    { id: '9007199254740994', created_at: null },
    { id: '9007199254740995', created_at: '2026-11-19 23:00:00+00' },
  ]);
  for (const row of read) expect(row).toMatchObject({ client_phone_number: '0412345678' });
});

describe('a file of mapped leads', () => {
  test('has the fields of the mapping as columns, and can be read back', async () => {
    const directory = tempDir();
    const columns = [
      { name: 'id', type: 'text' },
      { name: 'note', type: 'text' },
      { name: 'once', type: 'bigint' },
    ] as const;
    const one = aDelivery({
      leadId: 1n,
      fields: new Map<string, MappedValue>([
        ['id', 'mine'],
        ['note', '=1+1'],
      ]),
    });
    const two = aDelivery({
      leadId: 2n,
      fields: new Map<string, MappedValue>([
        ['id', null],
        ['old', ['a', 1n]],
      ]),
    });
    const sink = openCsv({ directory });
    await sink.deliver(aBatch([one, two], { columns }), NEVER);
    const rows = parse<Record<string, string>>(readFileSync(join(directory, NAME)), { columns: true });
    expect(rows).toEqual([
      expect.objectContaining({ id: 'mine', note: "'=1+1", once: '', old: '', _leadsync_lead_id: '1' }),
      expect.objectContaining({ id: '', note: '', once: '', old: '["a",1]', _leadsync_lead_id: '2' }),
    ]);
    expect(Object.keys(rows[0] ?? {})).toEqual([
      ...['id', 'note', 'once', 'old'],
      ...['_leadsync_lead_id', '_leadsync_source', '_leadsync_first_seen_at', '_leadsync_delivery_id'],
    ]);
  });
});
