import {
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, vi } from 'vitest';
import { LedgerError } from '../../src/ledger/contract/ledger-error.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aLead, aListedLead, hashOf, listedAs } from '../support/scene/a-lead.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { changedLead, delivered, ids, LedgerUnderTest, unavailable } from './ledger-under-test.ts';
import { SqliteFile, sqliteStore } from './sqlite-store.ts';

const open = (file: string, create = true) =>
  openLedger({
    file,
    create,
    clock: new HeldClock(),
    random: Math.random,
    judge: () => {
      throw new Error('not asked');
    },
  });

describe('a ledger file in trouble', () => {
  it('the ledger syncs its log with every commit, in the journal mode that lets other processes read meanwhile', async () => {
    const disk = new SqliteFile();
    await LedgerUnderTest.with(disk.open, 'crm');
    // 2 is FULL (https://www.sqlite.org/pragma.html#pragma_synchronous): a power cut undoes nothing that was confirmed.
    expect(disk.connection.pragma('synchronous', { simple: true })).toBe(2);
    expect(disk.connection.pragma('journal_mode', { simple: true })).toBe('wal');
  });

  it('a fault between recording a lead and owing it leaves neither', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm', 'drop');
    await on.list([1]);
    const poll = await on.ledger.startPoll('main');
    disk.other((db) =>
      db.exec(`CREATE TRIGGER no BEFORE INSERT ON _deliveries WHEN NEW.version_no = 4 AND NEW.sink_no = 2
        BEGIN SELECT RAISE(ABORT, 'no'); END`),
    );
    const before = disk.contents();
    await expect(
      on.ledger.record(
        poll,
        ids(1, 5).map((id) => aListedLead({ id })),
      ),
    ).rejects.toThrow(LedgerError);
    expect(disk.contents()).toEqual(before);
    disk.other((db) => db.exec('DROP TRIGGER no'));
    expect(
      await on.ledger.record(
        poll,
        ids(1, 5).map((id) => aListedLead({ id })),
      ),
    ).toMatchObject({ new: 4 });
    for (const sink of ['crm', 'drop']) expect(await on.owed(sink)).toHaveLength(5);
  });

  it('a full disk is reported, that call records nothing, and the ledger continues once there is space', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list(ids(1, 50));
    const poll = await on.ledger.startPoll('main');
    const big = ids(51, 150).map((id) => aListedLead({ id, note: 'x'.repeat(2000) }));
    const before = disk.contents();
    disk.fill();
    await expect(on.ledger.record(poll, big)).rejects.toMatchObject({
      code: 'full',
      isTransient: true,
      hint: expect.stringMatching(/space/),
    });
    expect(disk.contents()).toEqual(before);
    expect(on.ledger.failing()).toMatchObject({ code: 'full' });
    disk.makeRoom();
    expect(await on.ledger.record(poll, big)).toMatchObject({ new: 100 });
    expect(await on.owed('crm')).toHaveLength(150);
    await on.ledger.startPoll('main');
    expect(on.ledger.failing()).toBeUndefined();
  });

  it('on a full disk, a batch is settled completely or not at all, and can be settled again', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list(ids(1, 300));
    const { ref, batch } = await on.take('crm', { max: 300 });
    const before = disk.contents();
    disk.fill();
    const outcomes = batch.deliveries.map(() => ({ ...unavailable, answer: 'x'.repeat(1000) }));
    await expect(on.settle(ref, ...outcomes)).rejects.toMatchObject({ code: 'full' });
    expect(disk.contents()).toEqual(before);
    disk.makeRoom();
    expect((await on.settle(ref, ...outcomes))?.verdicts).toHaveLength(300);
  });

  it('a file of another program is refused as foreign and stays unchanged to the last byte', () => {
    const file = join(tempDir(), 'ledger.db');
    const other = new Database(file);
    other.exec('CREATE TABLE recipes (name TEXT)');
    other.close();
    const before = readFileSync(file);
    expect(() => open(file)).toThrow(
      expect.objectContaining({ code: 'foreign', hint: expect.stringMatching(/data_dir/) }),
    );
    expect(readFileSync(file)).toEqual(before);
    writeFileSync(file, 'this is a text about leads, and no database at all'.repeat(100));
    expect(() => open(file)).toThrow(expect.objectContaining({ code: 'foreign' }));
  });

  it('a ledger of a newer leadsync is refused with the next step', () => {
    const file = join(tempDir(), 'ledger.db');
    void open(file).close();
    const db = new Database(file);
    db.pragma('user_version = 99');
    db.close();
    expect(() => open(file)).toThrow(
      expect.objectContaining({ code: 'newer', hint: expect.stringMatching(/newer leadsync/) }),
    );
  });

  it('a ledger with overwritten pages is refused as damaged', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list(ids(1, 500));
    await on.ledger.close();
    const copy = join(tempDir(), 'copy.db');
    copyFileSync(disk.file, copy);
    writeSync(openSync(copy, 'r+'), Buffer.alloc(200_000, 0x5a), 0, 200_000, 4096);
    const ask = async () => (await open(copy).status()).sinks;
    await expect(ask()).rejects.toMatchObject({ code: 'damaged', hint: expect.stringMatching(/backup/) });
  });

  it('a rejected write of leadsync is reported as its fault, without advice to restore an intact file', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    disk.other((db) =>
      db.exec("CREATE TRIGGER no BEFORE UPDATE ON _ledger BEGIN SELECT RAISE(ABORT, 'no'); END"),
    );
    const failure = await on.ledger.clockWentBack(3_600_000).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'unexpected', isTransient: false });
    const { message, hint } = failure as LedgerError;
    expect(message).toMatch(/did not accept what leadsync wrote .*none of it was recorded/);
    expect(hint).toMatch(/fault in leadsync.*report.*does not mean that the file is damaged.*leadsync check/);
    expect(hint).not.toMatch(/Restore it from a backup/i);
  });

  it('a missing ledger is an error for a process that may not create it; a folder in its place is unwritable', () => {
    const file = join(tempDir(), 'ledger.db');
    expect(() => open(file, false)).toThrow(expect.objectContaining({ code: 'missing' }));
    expect(() => open(tempDir())).toThrow(expect.objectContaining({ code: 'unwritable' }));
  });

  it('of several pending contents left by an earlier leadsync, the last moves to the newest content', async () => {
    const file = join(tempDir(), 'ledger.db');
    const on = await LedgerUnderTest.with(sqliteStore(file), {
      name: 'crm',
      events: ['created', 'updated'],
      backfill: true,
    });
    await on.list([1]);
    await on.list([changedLead(1, 'B')]);
    // As it was then: one delivery for each content.
    const db = new Database(file);
    db.exec(`INSERT INTO _deliveries (version_no, sink_no, event, state, owed_at, next_attempt_at)
      SELECT 1, sink_no, 'created', state, owed_at, next_attempt_at FROM _deliveries; UPDATE _sinks SET pending = pending + 1`);
    db.close();
    await on.list([changedLead(1, 'C')]);
    expect((await on.owed('crm')).toSorted()).toEqual(['1 v2 skipped', '1 v3 pending']);
    expect((await on.ledger.status()).sinks).toMatchObject([{ pending: 1, skipped: 1 }]);
    await on.ledger.close();
  });

  it('a copy of the ledger gets another id, since a queue may still hold jobs of the original', async () => {
    const file = join(tempDir(), 'ledger.db');
    const open = (name: string) => LedgerUnderTest.with(sqliteStore(name), 'crm');
    const original = await open(file);
    const { id } = original.ledger;
    await original.ledger.close();
    const again = await open(file);
    expect(again.ledger.id).toBe(id);
    await again.ledger.close();
    copyFileSync(file, `${file}.copy`);
    const copy = await open(`${file}.copy`);
    expect(copy.ledger.id).not.toBe(id);
    const { id: copied } = copy.ledger;
    await copy.ledger.close();
    const copyAgain = await open(`${file}.copy`);
    expect(copyAgain.ledger.id).toBe(copied);
    await copyAgain.ledger.close();
  });

  describe('a ledger overwritten by an older copy of itself, with the same inode', () => {
    it('it gets another id, each time', async () => {
      const { file, use, restore } = await aUsedLedger();
      const ids = [await use()];
      for (let round = 0; round < 3; round += 1) {
        restore();
        ids.push(await use());
        expect(await use()).toBe(ids.at(-1)); // it is reported once
      }
      expect(new Set(ids).size).toBe(4);
      expect(statSync(`${file}.mark`).mode & 0o777).toBe(0o600);
    });

    it('it keeps its id if nothing was polled since the copy was made', async () => {
      const { file, use } = await aUsedLedger();
      const id = await use();
      copyFileSync(file, `${file}.newest`);
      copyFileSync(`${file}.newest`, file);
      expect(await use({ polls: 0 })).toBe(id);
    });

    it.each([
      ['is missing', (mark: string) => rmSync(mark)],
      ['is damaged', (mark: string) => writeFileSync(mark, '{"')],
      ['contains something else', (mark: string) => writeFileSync(mark, '[3]')],
    ])('it keeps its id if the marker file beside it %s', async (_, spoil) => {
      const { file, use, restore } = await aUsedLedger();
      const id = await use();
      restore();
      spoil(`${file}.mark`);
      expect(await use()).toBe(id);
    });

    it('it keeps its id after a recovery, which may not find the last polls', async () => {
      const { file, use, restore } = await aUsedLedger();
      const id = await use();
      restore();
      const db = new Database(file);
      db.exec('UPDATE _ledger SET file = NULL'); // as `leadsync recover` leaves it
      db.close();
      expect(await use()).toBe(id);
    });

    it('it continues if the marker file cannot be written', async () => {
      const { file, use } = await aUsedLedger();
      rmSync(`${file}.mark`);
      mkdirSync(`${file}.mark`);
      expect(await use()).toBe(await use());
    });
  });

  it('a copy of the ledger has no running attempt: what was being attempted when it was made is due immediately', async () => {
    const file = join(tempDir(), 'ledger.db');
    const original = await LedgerUnderTest.with(sqliteStore(file), 'crm');
    await original.list([1]);
    const { batch } = await original.take('crm');
    await original.ledger.close();
    copyFileSync(file, `${file}.copy`);
    const copy = await LedgerUnderTest.with(sqliteStore(`${file}.copy`), 'crm');
    // The copy does not know what was delivered after it was made.
    const deliveries = batch.deliveries.map((one) => ({ ...one, mayHaveArrived: true }));
    expect((await copy.take('crm')).batch).toEqual({ ...batch, deliveries });
    await copy.ledger.close();
  });

  it('a backup with the inode of the file that it replaced gets another id', async () => {
    const file = join(tempDir(), 'ledger.db');
    const idAfter = async (noted: (now: string) => string) => {
      const db = new Database(file);
      const now = db.prepare<[], string>('SELECT file FROM _ledger').pluck().get() ?? '';
      db.prepare('UPDATE _ledger SET file = ?').run(noted(now));
      db.close();
      const on = await LedgerUnderTest.with(sqliteStore(file), 'crm');
      await on.ledger.close();
      return on.ledger.id;
    };
    const first = await LedgerUnderTest.with(sqliteStore(file), 'crm');
    const { id } = first.ledger;
    await first.ledger.close();
    expect(await idAfter((now) => now)).toBe(id);
    const { dev, ino } = statSync(file, { bigint: true });
    // Earlier versions did not record the file's creation time, or recorded its device as well; opening records it again.
    expect(await idAfter(() => `${dev}:${ino}`)).toBe(id);
    expect(await idAfter((now) => `${dev}:${now.replace('@', ':')}`)).toBe(id);
    expect(await idAfter((now) => `${dev + 1n}:${now.replace('@', ':')}`)).toBe(id);
    expect(await idAfter((now) => now)).toBe(id);
    expect(await idAfter((now) => now.replace(/\d+$/, '1'))).not.toBe(id);
  });

  it('the ledger keeps its id when its volume is mounted with another device number', async () => {
    const file = join(tempDir(), 'ledger.db');
    const on = await LedgerUnderTest.with(sqliteStore(file), 'crm');
    await on.ledger.close();
    const db = new Database(file);
    const noted = db.prepare<[], string>('SELECT file FROM _ledger').pluck().get() ?? '';
    db.close();
    const { dev, ino, birthtimeNs } = statSync(file, { bigint: true });
    expect(noted).toBe(birthtimeNs === 0n ? `${dev}:${ino}` : `${ino}@${birthtimeNs}`);
  });

  it('the ledger detects that its file was removed or replaced', async () => {
    const file = join(tempDir(), 'ledger.db');
    const on = await LedgerUnderTest.with(sqliteStore(file), 'crm');
    expect(await on.ledger.isReplaced()).toBe(false);
    renameSync(file, `${file}.away`);
    expect(await on.ledger.isReplaced()).toBe(true);
    copyFileSync(`${file}.away`, file);
    expect(await on.ledger.isReplaced()).toBe(true);
    renameSync(`${file}.away`, file);
    expect(await on.ledger.isReplaced()).toBe(false);
    await on.ledger.close();
  });

  it('the ledger detects that its write-ahead log was removed', async () => {
    const file = join(tempDir(), 'ledger.db');
    const on = await LedgerUnderTest.with(sqliteStore(file), 'crm');
    await on.list([1]);
    expect(await on.ledger.isReplaced()).toBe(false);
    renameSync(`${file}-wal`, `${file}.away`);
    expect(await on.ledger.isReplaced()).toBe(true);
    renameSync(`${file}.away`, `${file}-wal`);
    expect(await on.ledger.isReplaced()).toBe(false);
    await on.ledger.close();
  });

  it('a new ledger has its views immediately', () => {
    const file = join(tempDir(), 'ledger.db');
    void open(file).close();
    const db = new Database(file);
    const views = db.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'view'").pluck().get();
    expect(views).toBeGreaterThan(10);
    expect(db.pragma('user_version', { simple: true })).toBeGreaterThan(0);
    db.close();
  });
});

describe('writing to the ledger', () => {
  it('known and unchanged leads cause no write', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list(ids(1, 500));
    const poll = await on.ledger.startPoll('main');
    const changes = () => disk.connection.prepare('SELECT total_changes()').pluck().get();
    const version = disk.other((db) => db.pragma('data_version', { simple: true }));
    const before = changes();
    const somebodyElse = new Database(disk.file);
    somebodyElse.exec('BEGIN IMMEDIATE'); // not even a request for the write lock
    await on.ledger.record(
      poll,
      ids(1, 500).map((id) => aListedLead({ id })),
    );
    somebodyElse.close();
    expect(changes()).toBe(before);
    expect(disk.other((db) => db.pragma('data_version', { simple: true }))).toBe(version);
  });

  it('concurrent requests share one commit, and a fault in one of them undoes only that one', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list(ids(1, 4));
    const { refs } = await on.claim('crm');
    for (const ref of refs) await on.begin(ref);
    disk.other((db) =>
      db.exec(
        "CREATE TRIGGER no BEFORE UPDATE ON _deliveries WHEN NEW.version_no = 2 AND NEW.state = 'delivered' BEGIN SELECT RAISE(ABORT, 'no'); END",
      ),
    );
    const results = await Promise.allSettled(refs.map((ref) => on.settle(ref, delivered)));
    expect(results.map((result) => result.status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await on.owed('crm')).toEqual([
      '1 v1 delivered',
      '2 v1 pending',
      '3 v1 delivered',
      '4 v1 delivered',
    ]);
    expect(disk.contents()['_attempts']).toHaveLength(3);
  });

  it('a lead is recorded and claimed in one commit if both are asked in one turn of the event loop', async () => {
    let commits = 0;
    const disk = new SqliteFile((db) => {
      const prepare = db.prepare.bind(db);
      vi.spyOn(db, 'prepare').mockImplementation((sql: string) => {
        const statement = prepare(sql);
        if (sql !== 'COMMIT') return statement;
        const run = statement.run.bind(statement);
        vi.spyOn(statement, 'run').mockImplementation((...params) => {
          commits += 1;
          return run(...params);
        });
        return statement;
      });
    });
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    const poll = await on.ledger.startPoll('main');
    const before = commits;
    const [recorded, { refs }] = await Promise.all([
      on.ledger.record(poll, [aListedLead({ id: 1 })], { hash: 'block', size: 1 }),
      on.claim('crm'),
    ]);
    expect(recorded.new).toBe(1);
    expect(refs).toHaveLength(1);
    // One read of what is known, and one commit.
    expect(commits - before).toBe(2);
  });

  it('a fault in other work of its commit leaves the counts of a poll right', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list([1]);
    const { refs } = await on.claim('crm');
    for (const ref of refs) await on.begin(ref);
    disk.other((db) =>
      db.exec(
        "CREATE TRIGGER no BEFORE UPDATE ON _deliveries WHEN NEW.state = 'delivered' BEGIN SELECT RAISE(ABORT, 'no'); END",
      ),
    );
    const poll = await on.ledger.startPoll('main');
    const listed = [1, 2, 3].map((id) => aListedLead({ id }));
    const twice = aListedLead({ id: 3, name: 'Another' });
    const [recorded, ...settled] = await Promise.allSettled([
      on.ledger.record(poll, [...listed, twice], { hash: 'block', size: 4 }),
      ...refs.map((ref) => on.settle(ref, delivered)),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected']);
    expect(recorded).toMatchObject({ value: { listed: 4, new: 2, changed: 0, rejected: 1 } });
    const end = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;
    expect(await on.ledger.finishPoll(poll, end)).toMatchObject({ new: 2, changed: 0, rejected: 1 });
    expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending', '3 v1 pending']);
  });
});

describe('the public views of the ledger file', () => {
  it('they show since when a lead is no longer listed, and nothing while it is listed', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list([1, 2]);
    const lastSeen = on.clock.now().toISOString();
    on.clock.jump(60_000);
    await on.list([2]);
    on.clock.jump(60_000);
    await on.list([2]);
    const listed = disk.other((db) =>
      db.prepare('SELECT id, _leadsync_last_listed_at AS at FROM leads ORDER BY id').all(),
    );
    expect(listed).toEqual([
      { id: 1, at: lastSeen },
      { id: 2, at: on.clock.now().toISOString() },
    ]);
    await on.list([1, 2]);
    const again = disk.other((db) =>
      db.prepare('SELECT _leadsync_last_listed_at AS at FROM leads WHERE id = 1').get(),
    );
    expect(again).toEqual({ at: on.clock.now().toISOString() });
  });

  it('they show a rejected lead once, and when it became correct', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    const raw = aLead({ id: 2, client_email: null });
    const broken = {
      kind: 'rejected',
      position: 1,
      id: 2n,
      raw,
      hash: hashOf(raw),
      reason: 'A text is required.',
      path: 'client_email',
    } as const;
    await on.list([1, broken]);
    await on.list([1, broken, 3]);
    const rows = () =>
      disk.other((db) =>
        db.prepare('SELECT poll_id, last_poll_id, path, raw, resolved_at FROM rejected_leads').all(),
      );
    expect(rows()).toEqual([{ poll_id: 1, last_poll_id: 2, path: 'client_email', raw, resolved_at: null }]);
    on.clock.jump(1000);
    await on.list([1, 2, 3]);
    expect(rows()).toEqual([expect.objectContaining({ resolved_at: on.clock.now().toISOString() })]);
  });

  it('they keep every content of a lead and name what changed', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list([1]);
    on.clock.jump(1000);
    await on.list([changedLead(1, 'B')]);
    const versions = disk.other((db) =>
      db
        .prepare('SELECT version, valid_to, is_current, changed_fields FROM lead_versions ORDER BY version')
        .all(),
    );
    expect(versions).toEqual([
      { version: 1, valid_to: on.clock.now().toISOString(), is_current: 0, changed_fields: null },
      { version: 2, valid_to: null, is_current: 1, changed_fields: '["client_name"]' },
    ]);
  });

  const columns: Record<string, string> = {
    leads:
      'source id service_name service_slug created_at client_name client_email client_phone_number client_address all_details_one_liner service_question_answers answers _leadsync_first_seen_at _leadsync_changed_at _leadsync_synced_at _leadsync_last_listed_at _leadsync_version _leadsync_hash _leadsync_raw',
    lead_answers: 'source lead_id position question slug answer',
    lead_versions: 'version valid_from valid_to is_current changed_fields raw',
    polls:
      'poll_id source started_at finished_at status leads_listed leads_new leads_changed leads_rejected bytes http_status error',
    deliveries:
      'delivery_id source lead_id lead_version sink state reason attempts owed_at first_attempt_at next_attempt_at settled_at replay',
    attempts: 'started_at duration_ms outcome http_status error',
    rejected_leads: 'poll_id position reason path raw',
    v_leads: 'source id service_name client_name answers',
    v_lead_timeline: 'source lead_id at what',
    v_speed_to_lead:
      'sink created_at first_seen_at delivered_at created_to_seen_seconds seen_to_delivered_seconds',
    v_undelivered: 'delivery_id sink state',
    v_sink_health: 'sink pending dead held_since',
    v_freshness: 'source last_success_at age_seconds',
    v_services: 'service_slug leads',
    v_questions: 'slug question answers',
  };

  it.each(Object.entries(columns))(
    'the view has the documented columns, whatever leads there are: %s',
    async (view, expected) => {
      const disk = new SqliteFile();
      const on = await LedgerUnderTest.with(disk.open, 'crm');
      await on.list([1, ...oddLeads()]);
      await on.attemptAll('crm');
      const rows = disk.other((db) => db.prepare(`SELECT * FROM ${view}`).all()) as Record<string, unknown>[];
      const names = disk.other((db) =>
        db
          .prepare(`SELECT * FROM ${view}`)
          .columns()
          .map((column) => column.name),
      );
      expect(names).toEqual(expect.arrayContaining(expected.split(' ')));
      if (['leads', 'v_leads', 'lead_versions'].includes(view))
        expect(rows).toHaveLength(1 + oddLeads().length);
    },
  );
});

/** Builds leads that follow the description but are hard to read as JSON. */
function oddLeads() {
  const deep = `${'['.repeat(1500)}${']'.repeat(1500)}`;
  const raws: [bigint, string][] = [
    [2n ** 63n - 1n, aLead({ id: 2n ** 63n - 1n, client_address: null, service_question_answers: [] })],
    [3n, aLead({ id: 3, client_name: '\u0000', created_at: 'yesterday' })],
    [4n, aLead({ id: 4 }).replace('Anna Müller', '\\ud800')],
    [5n, aLead({ id: 5 }).replace('{', `{"extra":${deep},`)],
    [
      6n,
      aLead({
        id: 6,
        service_question_answers: [
          { question: 'q', slug: 's', answer: 'a' },
          { question: 'q', slug: 's', answer: 'b' },
        ],
      }),
    ],
    [7n, aLead({ id: 7 }).replace('{', '{"big":1e400,"client_name":"first",')],
  ];
  return raws.map(([id, raw], position) => listedAs(id, raw, position));
}

/**
 * Creates a ledger that was polled once and then copied. `use` opens it, polls and returns its id; `restore` overwrites it with the copy.
 */
async function aUsedLedger() {
  const file = join(tempDir(), 'ledger.db');
  const use = async ({ polls = 2 } = {}) => {
    const on = await LedgerUnderTest.with(sqliteStore(file), 'crm');
    for (let poll = 0; poll < polls; poll += 1) await on.list([1]);
    await on.ledger.recordProgress();
    await on.ledger.close();
    return on.ledger.id;
  };
  await use();
  copyFileSync(file, `${file}.backup`);
  return { file, use, restore: () => copyFileSync(`${file}.backup`, file) };
}
