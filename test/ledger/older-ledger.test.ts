import { expect, it } from 'vitest';
import { browseIndexes } from '../../src/ledger/browse-indexes.ts';
import { relations } from '../../src/store/documented.ts';
import { aListedLead } from '../support/a-lead.ts';
import { LedgerUnderTest } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

/** Makes of a ledger what the version before had. */
const AS_BEFORE = `
  DROP TABLE _erased;
  ALTER TABLE _leads DROP COLUMN erased_no;
  DROP TABLE _client_keys;
  DROP TABLE _comments;
  DROP INDEX _versions_by_service;
  DROP INDEX _versions_facts;
  ALTER TABLE _versions DROP COLUMN service_slug;
  ALTER TABLE _versions DROP COLUMN created_at;
  ALTER TABLE _versions DROP COLUMN readable;
  ALTER TABLE _sinks DROP COLUMN place;
  ALTER TABLE _sinks DROP COLUMN former;
  ALTER TABLE _ledger DROP COLUMN keyed_with;
  ALTER TABLE _ledger DROP COLUMN keyed_through;
  PRAGMA user_version = 2;
`;

it('an older ledger knows of its leads what it would if they came today', async () => {
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
  await on.again().ledger.close();
  expect(leads()).toEqual(before);
  expect(before[0]).toMatchObject({ service_slug: 'gardening', created_at: '2026-11-20T09:00:00.000Z' });
});

it('says of every table, view and column what it means', async () => {
  const disk = new SqliteFile();
  await LedgerUnderTest.with(disk.open, 'crm');
  const comments = disk.other((db) => db.prepare('SELECT relation, "column" FROM _comments').raw().all());
  expect(comments).toEqual(
    relations.flatMap(({ name, columns }) => [[name, null], ...columns.map((one) => [name, one.name])]),
  );
});

it('brings what is said of tables and columns to its own words, where the shape is the same', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  const comments = () => disk.other((db) => db.prepare('SELECT * FROM _comments').raw().all());
  const before = comments();
  disk.other((db) => db.exec("UPDATE _comments SET comment = 'old' WHERE relation = 'polls'"));
  await on.again().ledger.close();
  expect(comments()).toEqual(before);
});
