import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { FORMATS, type Format, writeAnswer } from '../../../src/cli/query/query-output.ts';
import { runOnServer, type ServerQuery } from '../../../src/cli/query/run-on-server.ts';
import type { RunSql } from '../../../src/ledger/contract/ledger-tables.ts';
import { runSql } from '../../../src/ledger/extraction/run-sql.ts';
import { ledgerPlaceOf } from '../../../src/operations/opening/configured-ledger.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { eventfulLedger } from '../../catalog/eventful-store.ts';
import { ids, LedgerUnderTest } from '../../ledger/ledger-under-test.ts';
import { SqliteFile } from '../../ledger/sqlite-store.ts';
import { PostgresStore } from '../../ledger-postgres/postgres-store.ts';
import { tempDir } from '../../support/files/temp-dir.ts';

const GB = 1024 ** 3;

/** Returns the function that runs SQL as a user who may only read. */
async function runSqlOf(store: PostgresStore): Promise<RunSql> {
  const { schema } = store;
  const url = new Secret((await store.addReader()).url);
  const { runSql } = ledgerPlaceOf({ dataDir: tempDir(), ledgerServer: { url, schema, connections: 2 } });
  if (!runSql) throw new Error('a ledger on a server runs no SQL');
  return runSql;
}

function outputAs(format: Format, limit = Number.POSITIVE_INFINITY) {
  return { format, limit, room: undefined, terminal: false };
}

/** Runs a query on the server. Returns its output and its result. */
async function answered(run: RunSql, query: Partial<ServerQuery> & Pick<ServerQuery, 'sql'>) {
  let text = '';
  const stdout = new Writable({
    write: (chunk, _encoding, done) => {
      text += chunk;
      done();
    },
  });
  const defaults = { values: {}, timeoutMs: 60_000, maxBytes: 4 * GB, output: outputAs('csv') };
  const result = await runOnServer(run, { ...defaults, ...query }, { stdout });
  return { text, result };
}

async function aLedger(): Promise<RunSql> {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 3_000));
  return runSqlOf(store);
}

it.each(FORMATS)('an answer of a server as %s is written like one of SQLite', async (format) => {
  const [disk, store] = [new SqliteFile(), new PostgresStore()];
  await eventfulLedger(disk.open);
  await eventfulLedger(store.open);
  const sql =
    "SELECT id, client_name, created_at > '2026-01-01' AS late, CAST(_leadsync_version / 2.0 AS double precision) AS part FROM leads WHERE id > :after ORDER BY id";
  const values = { after: 3n };
  let ofFile = '';
  await runSql(disk.file, sql, values, async (result) => {
    await writeAnswer(result, outputAs(format), (text) => {
      ofFile += text;
      return true;
    });
  });
  const { text } = await answered(await runSqlOf(store), { sql, values, output: outputAs(format) });
  expect(text).not.toBe('');
  expect(text).toBe(ofFile);
});

it('writes at most as many rows as were asked for, and says whether there are more', async () => {
  const run = await aLedger();
  const sql = 'SELECT id FROM leads ORDER BY id';
  const some = await answered(run, { sql, output: outputAs('csv', 2) });
  expect(some).toEqual({ text: 'id\r\n1\r\n2\r\n', result: { rows: 2, more: true } });
  const all = await answered(run, { sql, output: outputAs('csv', 3_000) });
  expect(all.result).toEqual({ rows: 3_000, more: false });
  expect(all.text.split('\r\n')).toHaveLength(3_002);
});

it('ends when the reader closes the output', async () => {
  const stdout = new Writable({ highWaterMark: 1, write: () => stdout.destroy(new Error('closed')) });
  const query = {
    sql: 'SELECT _leadsync_raw FROM leads',
    values: {},
    timeoutMs: 60_000,
    maxBytes: 4 * GB,
    output: outputAs('csv'),
  };
  expect(await runOnServer(await aLedger(), query, { stdout })).toEqual({ rows: undefined, more: false });
});

it('refuses what is no query, names the columns of a table that was asked for another one, and stops at its memory', async () => {
  const run = await aLedger();
  const failure = (query: Parameters<typeof answered>[1]) =>
    answered(run, query).then(
      () => undefined,
      (error: unknown) => error,
    );
  expect(await failure({ sql: 'DELETE FROM leads' })).toMatchObject({ exitCode: 2 });
  const wrong = await failure({ sql: 'SELECT phone FROM v_leads' });
  expect(wrong).toMatchObject({ exitCode: 2 });
  expect(String((wrong as { hint?: unknown }).hint)).toContain('v_leads has source, id,');
  expect(await failure({ sql: 'SELECT id FROM leads', maxBytes: 1 })).toMatchObject({
    message: expect.stringContaining('of memory and was stopped'),
  });
});
