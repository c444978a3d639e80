import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isOpenToAnalysts, openToAnalysts, queries, relations } from '../../src/catalog/catalog.ts';
import { pasted } from '../../src/catalog/query.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { requireDatabaseUrl, uniqueName } from '../support/servers/services.ts';
import { PostgresStore } from './postgres-store.ts';

const SCRIPT = join(import.meta.dirname, '../../deploy/postgres/analyst-role.sql');

test('the role of analyst-role.sql reads the views of a ledger without personal data, and nothing else', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open, 'crm');
  const role = uniqueName('analyst');
  onTestFinished(async () => {
    await store.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  const variables = ['-v', `schema=${store.schema}`, '-v', `role=${role}`];
  execFileSync('psql', [requireDatabaseUrl(), '-qX', ...variables, '-f', SCRIPT], { stdio: 'pipe' });
  const mayRun = (sql: string) =>
    store.query(`BEGIN; SET LOCAL ROLE ${role}; ${sql}; COMMIT`).then(
      () => true,
      (error: Error) => {
        expect(error.message).toMatch(/^permission denied for (table|view) /);
        return false;
      },
    );
  const readable: string[] = [];
  for (const { name } of relations) if (await mayRun(`SELECT * FROM ${name}`)) readable.push(name);
  expect(readable.sort()).toEqual([...openToAnalysts].sort());
  for (const query of queries)
    expect(await mayRun(pasted(query, 'postgres')), query.name).toBe(isOpenToAnalysts(query.sql));
  for (const sql of ['SELECT * FROM _versions', 'SELECT * FROM _client_keys', 'DELETE FROM polls'])
    expect(await mayRun(sql), sql).toBe(false);
});
