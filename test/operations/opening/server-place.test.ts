import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DEFAULT_RETRY } from '../../../src/config/options/sink-options.ts';
import { judgeBy } from '../../../src/delivery/judge.ts';
import type { Ledger } from '../../../src/ledger/contract/ledger.ts';
import { LedgerError } from '../../../src/ledger/contract/ledger-error.ts';
import { isMirrored } from '../../../src/ledger/contract/mirrored-ledger.ts';
import { whyUnsuitable } from '../../../src/ledger-postgres/database/suitable-server.ts';
import { ledgerPlaceOf } from '../../../src/operations/opening/configured-ledger.ts';
import type { LedgerPlace } from '../../../src/operations/opening/ledger-place.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { PostgresStore } from '../../ledger-postgres/postgres-store.ts';
import { startTransactionPooler } from '../../ledger-postgres/transaction-pooler.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { freePort } from '../../support/servers/server-process.ts';
import { requireDatabaseUrl, uniqueName } from '../../support/servers/services.ts';
import { HeldClock } from '../../support/time/held-clock.ts';

const never = new AbortController().signal;

function placeIn({ schema }: PostgresStore, url = requireDatabaseUrl(), dataDir = tempDir()): LedgerPlace {
  return ledgerPlaceOf({ dataDir, ledgerServer: { url: new Secret(url), schema, connections: 2 } });
}

async function create(place: LedgerPlace): Promise<void> {
  await (await openAt(place)).close();
}

/** Opens a new ledger. */
function openAt(place: LedgerPlace): Promise<Ledger> {
  const judge = judgeBy(() => DEFAULT_RETRY, Math.random);
  return place.open({ clock: systemClock, random: Math.random, judge, create: true });
}

/** Returns the message and the hint of the error with which a check fails. */
async function refusal(place: LedgerPlace): Promise<string> {
  const error = await place.check(never, systemClock).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(LedgerError);
  return `${(error as LedgerError).message} ${(error as LedgerError).hint}`;
}

/** Returns the address of the database for another user or database. */
function addressFor(change: (url: URL) => void): string {
  const url = new URL(requireDatabaseUrl());
  change(url);
  return url.href;
}

/** Creates a user for the test, with these settings. */
async function aUser(store: PostgresStore, settings = ''): Promise<{ user: string; url: string }> {
  const user = uniqueName('user');
  await store.query(`CREATE ROLE ${user} LOGIN PASSWORD 'let-me-in' ${settings}`);
  onTestFinished(async () => {
    await store.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
  });
  return {
    user,
    url: addressFor((url) => {
      url.username = user;
      url.password = 'let-me-in';
    }),
  };
}

it('opens a ledger that no mirror copies, unlike one in a file', async () => {
  const server = placeIn(new PostgresStore());
  const file = ledgerPlaceOf({ dataDir: tempDir(), ledgerServer: undefined });
  expect(
    await Promise.all(
      [server, file].map(async (place) => {
        const ledger = await openAt(place);
        onTestFinished(() => ledger.close());
        return isMirrored(ledger);
      }),
    ),
  ).toEqual([false, true]);
});

it('names the server, the database and the schema, and no password', () => {
  const url = new Secret('postgresql://leadsync:let-me-in@db.example.com:5433/leads?sslmode=require');
  const { where } = ledgerPlaceOf({
    dataDir: '/data',
    ledgerServer: { url, schema: 'leadsync_ledger', connections: 4 },
  });
  expect(where).toBe('the schema leadsync_ledger of PostgreSQL at db.example.com:5433/leads');
});

it('checks a server before the first run and after it, and creates nothing itself', async () => {
  const store = new PostgresStore();
  const place = placeIn(store);
  expect(await place.check(never, systemClock)).toMatch(
    /^PostgreSQL \d+\.\d+ answers\. The first run creates/,
  );
  expect(await place.isMissing()).toBe(true);
  await create(place);
  expect(await place.check(never, systemClock)).toContain(`The ledger is in the schema ${store.schema} of `);
  expect(await place.isMissing()).toBe(false);
});

it("says how far the server's clock is from the one of this machine", async () => {
  const place = placeIn(new PostgresStore());
  const clock = new HeldClock(new Date(Date.now() - 86_400_000).toISOString());
  expect(await place.check(never, clock)).toMatch(
    /clock is 24 ?h\w* ahead of this machine's\. leadsync goes by/,
  );
  expect(await place.check(never, systemClock)).not.toContain('clock');
});

it('says that the server may lose commits, which leadsync prevents for its own', async () => {
  const store = new PostgresStore();
  const { user, url } = await aUser(store);
  await store.query(
    `CREATE SCHEMA ${store.schema} AUTHORIZATION ${user}; ALTER ROLE ${user} SET synchronous_commit = off`,
  );
  const place = placeIn(store, url);
  expect(await place.check(never, systemClock)).toContain('synchronous_commit is off on the server');
});

it('says which right the user lacks, and how to grant it', async () => {
  const store = new PostgresStore();
  const { user, url } = await aUser(store);
  const text = await refusal(placeIn(store, url));
  expect(text).toContain(`The user ${user} may not create the schema ${store.schema}`);
  await store.query(text.slice(text.indexOf('CREATE SCHEMA')));
  await create(placeIn(store, url));
  await store.query(`REVOKE ALL ON _ledger FROM ${user}`);
  expect(await refusal(placeIn(store, url))).toContain('the user lacks a privilege');
});

it('refuses a schema with other tables, and a ledger of a newer leadsync', async () => {
  const other = new PostgresStore();
  await other.query(`CREATE SCHEMA ${other.schema}; CREATE TABLE ${other.schema}.other (id int)`);
  expect(await refusal(placeIn(other))).toContain("contains tables that are not a ledger's");
  await expect(placeIn(other).isMissing()).rejects.toMatchObject({ code: 'foreign' });
  const newer = new PostgresStore();
  await create(placeIn(newer));
  await newer.query('UPDATE _ledger SET shape = 1000');
  expect(await refusal(placeIn(newer))).toContain('was written by a newer leadsync');
});

it('the error for an invalid address has the reason', async () => {
  const store = new PostgresStore();
  const port = await freePort();
  expect(
    await refusal(
      placeIn(
        store,
        addressFor((url) => {
          url.port = String(port);
        }),
      ),
    ),
  ).toContain(`:${port}`);
  expect(
    await refusal(
      placeIn(
        store,
        addressFor((url) => {
          url.pathname = '/no_such_database';
        }),
      ),
    ),
  ).toContain('its database does not exist');
  expect(await refusal(placeIn(store, await startTransactionPooler(1)))).toContain('pool_mode = session');
});

it.each([
  [{ versionNumber: 130_014, version: '13.14', encoding: 'UTF8' }, /is version 13\.14, which is too old/],
  [{ versionNumber: 150_018, version: '15.18', encoding: 'LATIN1' }, /has the encoding LATIN1/],
  [{ versionNumber: 140_000, version: '14.0', encoding: 'UTF8' }, undefined],
])('says why a server cannot hold a ledger: %o', (facts, message) => {
  const found = whyUnsuitable(facts, 'PostgreSQL at db');
  if (message) expect(found).toMatchObject({ code: 'unsuitable', message: expect.stringMatching(message) });
  else expect(found).toBeUndefined();
});

it('takes a ledger in SQLite as a trace, because a new ledger would send every lead again', () => {
  const dataDir = tempDir();
  const place = placeIn(new PostgresStore(), requireDatabaseUrl(), dataDir);
  expect(place.traces()).toEqual([]);
  writeFileSync(join(dataDir, 'ledger.db'), 'SQLite');
  writeFileSync(join(dataDir, 'erased.jsonl'), '');
  expect(place.traces()).toEqual(['ledger.db', 'erased.jsonl']);
});
