import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import { retainOnce } from '../../src/daemon/upkeep/retain.ts';
import { browseIndexes } from '../../src/ledger/schema/page-index-migration.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { HOUR, LedgerUnderTest } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

const DAY = 24 * HOUR;

/** Turns a ledger into one of the previous schema. */
const AS_BEFORE = `
  DROP INDEX _attempts_failed;
  DROP TABLE _sink_activity;
  DROP TABLE _sink_holds;
  DROP INDEX _deliveries_discarded;
  DROP INDEX _deliveries_replays;
  DROP INDEX _replays_by_request;
  ALTER TABLE _deliveries DROP COLUMN discarded;
  ALTER TABLE _replays DROP COLUMN chosen;
  ALTER TABLE _deliveries DROP COLUMN bound;
  ALTER TABLE _deliveries DROP COLUMN reissued;
  ALTER TABLE _replays DROP COLUMN left_out;
  ALTER TABLE _deliveries DROP COLUMN was_left_out;
  ALTER TABLE _deliveries DROP COLUMN ref;
  DROP TABLE _mappings;
  ALTER TABLE _sinks DROP COLUMN mapping_no;
  ALTER TABLE _batches DROP COLUMN mapping_no;
  ALTER TABLE _deliveries DROP COLUMN mapping_no;
  DROP TABLE _erased;
  DROP TABLE _presence;
  DROP TABLE _clock_set_back;
  DROP TABLE _listing_sizes;
  ALTER TABLE _leads DROP COLUMN erased_no;
  DROP TABLE _client_keys;
  DROP TABLE _comments;
  DROP INDEX _versions_by_service;
  DROP INDEX _versions_facts;
  ALTER TABLE _versions DROP COLUMN service_slug;
  ALTER TABLE _versions DROP COLUMN created_at;
  ALTER TABLE _versions DROP COLUMN readable;
  ALTER TABLE _versions DROP COLUMN safe_raw;
  ALTER TABLE _sinks DROP COLUMN place;
  ALTER TABLE _sinks DROP COLUMN former;
  ALTER TABLE _ledger DROP COLUMN restored_at;
  ALTER TABLE _deliveries DROP COLUMN unsure_at;
  ALTER TABLE _deliveries DROP COLUMN excused;
  ALTER TABLE _ledger DROP COLUMN keyed_with;
  ALTER TABLE _ledger DROP COLUMN keyed_through;
  PRAGMA user_version = 2;
`;

/** Creates a ledger with the contents of three leads, as schema 2 left it. */
async function anOlderLedger() {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  await on.list([
    aListedLead({ id: 1, service_slug: 'gardening', created_at: '2026-11-20T10:00:00+01:00' }),
    aListedLead({ id: 2, client_name: 'a\0b\ud800' }),
    aListedLead({ id: 3, created_at: 'yesterday' }),
  ]);
  await on.ledger.close();
  const leads = () => disk.other((db) => db.prepare('SELECT * FROM leads ORDER BY id').all());
  const before = leads();
  disk.other((db) => {
    const views = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all();
    for (const view of views) db.exec(`DROP VIEW ${String(view)}`);
    for (const [, index] of browseIndexes.matchAll(/CREATE INDEX (\w+)/g)) db.exec(`DROP INDEX ${index}`);
    db.exec(AS_BEFORE);
  });
  return { disk, on, leads, before };
}

it('an older ledger has the same facts about its leads as if they arrived today', async () => {
  const { on, leads, before } = await anOlderLedger();
  await on.again().ledger.close();
  expect(leads()).toEqual(before);
  expect(before[0]).toMatchObject({ service_slug: 'gardening', created_at: '2026-11-20T09:00:00.000Z' });
});

it('an older ledger describes every table, view and column', async () => {
  const disk = new SqliteFile();
  await LedgerUnderTest.with(disk.open, 'crm');
  const comments = disk.other((db) => db.prepare('SELECT relation, "column" FROM _comments').raw().all());
  expect(comments).toEqual(
    relations.flatMap(({ name, columns }) => [[name, null], ...columns.map((one) => [name, one.name])]),
  );
});

it('opening a ledger updates the descriptions of its tables and columns where their shape is the same', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  const comments = () => disk.other((db) => db.prepare('SELECT * FROM _comments').raw().all());
  const before = comments();
  disk.other((db) => db.exec("UPDATE _comments SET comment = 'old' WHERE relation = 'polls'"));
  await on.again().ledger.close();
  expect(comments()).toEqual(before);
});

describe('an upgrade of the ledger', () => {
  it('it keeps the old ledger in a copy that only this user can read, and the next erasure removes that copy', async () => {
    const { disk, on } = await anOlderLedger();
    const upgraded = on.again().ledger;
    const [name = ''] = copiesOf(disk);
    expect(name).toBe(`${basename(disk.file)}.before-schema-${upgraded.opening.upgraded?.to}`);
    const path = join(dirname(disk.file), name);
    expect(upgraded.opening).toEqual({
      upgraded: { from: 2, to: expect.any(Number), copy: { path } },
      isCopy: false,
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const copy = new Database(path, { readonly: true });
    expect(copy.pragma('user_version', { simple: true })).toBe(2);
    expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(copy.prepare('SELECT count(*) FROM _versions').pluck().get()).toBe(3);
    copy.close();
    expect(await upgraded.scrub()).toBe(true);
    expect(copiesOf(disk)).toEqual([]);
    await upgraded.close();
  });

  it('it replaces the copy of the previous upgrade and the remains of an interrupted one', async () => {
    const { disk, on } = await anOlderLedger();
    writeFileSync(`${disk.file}.before-schema-2`, 'the ledger as it was before');
    writeFileSync(`${disk.file}.before-schema-2.part`, 'half of it');
    const { ledger } = on.again();
    expect(copiesOf(disk)).toEqual([`${basename(disk.file)}.before-schema-${await latestSchema()}`]);
    await ledger.close();
  });

  it.each([
    ['the disk has too little space', 'the disk has too little space', leaveNoRoom],
    ['it cannot be written', expect.stringContaining('EISDIR'), blockCopy],
  ])('it keeps the copy of the previous upgrade if it makes none because %s', async (_, skipped, prevent) => {
    const { disk, on } = await anOlderLedger();
    const earlier = `${disk.file}.before-schema-2`;
    writeFileSync(earlier, 'the ledger as it was before');
    await prevent(disk);
    const { ledger } = on.again();
    expect(ledger.opening.upgraded?.copy).toEqual({ skipped });
    expect(readFileSync(earlier, 'utf8')).toBe('the ledger as it was before');
    await ledger.close();
  });

  it.each([
    ['a week', {}, 7],
    ['the shortest time in `retention`', { leads: 90 * DAY, attempts: 3 * DAY }, 3],
    ['a week, where `retention` keeps everything for longer', { leads: 90 * DAY }, 7],
  ])('its copy is removed after %s', async (_, retention, days) => {
    const { disk, on } = await anOlderLedger();
    const { ledger } = on.again();
    const [name = ''] = copiesOf(disk);
    const now = on.clock.now();
    utimesSync(join(dirname(disk.file), name), now, now);
    const clock = {
      ...on.clock,
      now: () => on.clock.now(),
      monotonicMs: () => 0,
      sleep: async () => undefined,
    };
    const parts = { ledger, clock, emit: () => undefined };
    on.clock.jump(days * DAY - 1_000);
    await retainOnce(retention, parts, new AbortController().signal);
    expect(copiesOf(disk)).toEqual([name]);
    on.clock.jump(2_000);
    await retainOnce(retention, parts, new AbortController().signal);
    expect(copiesOf(disk)).toEqual([]);
    await ledger.close();
  });

  it('it continues without a copy if none can be made, and says why', async () => {
    const { disk, on } = await anOlderLedger();
    await blockCopy(disk);
    const { ledger } = on.again();
    expect(ledger.opening.upgraded).toMatchObject({
      from: 2,
      copy: { skipped: expect.stringContaining('EISDIR') },
    });
    await ledger.close();
  });

  it('only the process that holds the data directory upgrades: any other refuses an older ledger and changes nothing', async () => {
    const { disk } = await anOlderLedger();
    const before = readFileSync(disk.file);
    const judge = () => {
      throw new Error('not asked');
    };
    const parts = { file: disk.file, clock: new HeldClock(), random: Math.random, judge, create: false };
    expect(() => openLedger(parts)).toThrow(
      expect.objectContaining({ code: 'older', hint: expect.stringContaining('leadsync run') }),
    );
    expect(readFileSync(disk.file)).toEqual(before);
  });
});

function copiesOf(disk: SqliteFile): string[] {
  return readdirSync(dirname(disk.file)).filter((name) => name.includes('before-schema'));
}

/** Makes the ledger's file appear as large as the free space of its disk. */
async function leaveNoRoom({ file }: SqliteFile): Promise<void> {
  const { bavail, bsize } = statfsSync(file);
  truncateSync(file, bavail * bsize);
}

/** Creates a folder at the path of the copy. */
async function blockCopy({ file }: SqliteFile): Promise<void> {
  mkdirSync(`${file}.before-schema-${await latestSchema()}.part`);
}

/** Returns the schema number of a ledger created today. */
async function latestSchema(): Promise<number> {
  const disk = new SqliteFile();
  await LedgerUnderTest.with(disk.open, 'crm');
  return disk.other((db) => Number(db.pragma('user_version', { simple: true })));
}
