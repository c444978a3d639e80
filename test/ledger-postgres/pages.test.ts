import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { PostgresPlace } from '../../src/ledger-postgres/database/postgres-access.ts';
import { openPostgresPages } from '../../src/ledger-postgres/postgres-pages.ts';
import { leadPagesContract } from '../ledger/contract/lead-pages.ts';
import { listPagesContract } from '../ledger/contract/list-pages.ts';
import { reasonsContract } from '../ledger/contract/reasons.ts';
import { HOUR, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import type { PagedStore } from '../ledger/paged-store.ts';
import { requireDatabaseUrl, uniqueName } from '../support/servers/services.ts';
import { PostgresStore } from './postgres-store.ts';

/** Opens a ledger and readers for its pages in one schema, which is dropped with the running test. */
function pagedSchema(store = new PostgresStore({}, HOUR)): PagedStore {
  // A busy machine must not fail these tests.
  return { open: store.open, openReader: () => openPostgresPages(store.place(), { timeoutMs: 60_000 }) };
}

leadPagesContract(pagedSchema);
listPagesContract(pagedSchema);
reasonsContract(pagedSchema);

describe('in a database that sorts by a language and knows the case of all letters', () => {
  const name = uniqueName('english');
  const url = Object.assign(new URL(requireDatabaseUrl()), { pathname: `/${name}` }).href;
  const admin = new pg.Pool({ connectionString: requireDatabaseUrl(), max: 1 });
  const inDatabase = new pg.Pool({ connectionString: url, max: 1 });
  beforeAll(async () => {
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'`);
  });
  afterAll(async () => {
    await inDatabase.end();
    await admin.query(`DROP DATABASE ${name}`);
    await admin.end();
  });
  reasonsContract(() => pagedSchema(new PostgresStore({ url }, HOUR, inDatabase)));
});

/** Opens a reader on a new ledger, with a stop before statements. */
async function readerThat(beforeStatement: PostgresPlace['beforeStatement'], timeoutMs = 60_000) {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open, 'crm');
  const reader = await openPostgresPages({ ...store.place(), beforeStatement }, { timeoutMs });
  onTestFinished(() => reader.close());
  return reader;
}

it('a query that takes too long is rejected, begins no other statement, and the next one is answered', async () => {
  const late = Promise.withResolvers<void>();
  const begun: string[] = [];
  const reader = await readerThat((name) => {
    begun.push(name);
    return name === 'polls-newest' ? late.promise : undefined;
  }, 1_000);
  await expect(reader.ask('polls', {}, { limit: 5 })).rejects.toMatchObject({
    name: 'LedgerBusy',
    hint: expect.stringContaining('Narrow'),
  });
  late.resolve();
  begun.length = 0;
  await expect(reader.ask('services', 5)).resolves.toEqual([]);
  expect(begun).toEqual(['begin', 'begin-page', 'services', 'commit']);
});

it('a few hundred queries may wait at most, and those that wait are rejected when the reader is closed', async () => {
  const never = Promise.withResolvers<void>();
  const reader = await readerThat((name) => (name === 'services' ? never.promise : undefined));
  const asked = Array.from({ length: 201 }, () =>
    reader.ask('services', 1).then(
      () => 'answered',
      (error) => error.message,
    ),
  );
  expect(await asked.at(-1)).toBe('Too many queries are waiting for the ledger.');
  const closed = reader.close();
  never.resolve();
  expect(new Set(await Promise.all(asked.slice(0, -1)))).toEqual(new Set(['leadsync is stopping.']));
  await closed;
});
