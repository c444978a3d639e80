import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, onTestFinished, test } from 'vitest';
import type { PostgresStore } from '../ledger-postgres/postgres-store.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { requireDatabaseUrl, uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { aServerScene } from './server-ledger.ts';

const LEADS = 5;
const PASSWORD = 'let-me-in';
const IDS = Array.from({ length: LEADS }, (_, at) => String(at + 1));

/** A scene in which every lead was delivered, and a leadsync on another machine. */
async function delivered() {
  const nightly = { type: 'directory', directory: tempDir(), every: '1d', tables: ['leads'], format: 'csv' };
  const config = { exports: { nightly } };
  const scene = await aServerScene('in-process', { stub: { leads: LEADS }, config });
  await scene.start();
  await until('all are delivered', () => scene.complete());
  const url = await anOperator(scene.store);
  return { scene, other: await scene.onAnotherMachine({ ledger: { url, schema: scene.store.schema } }) };
}

/** Creates a user of the database who is no superuser, because a superuser must not query. Returns the address for that user. */
async function anOperator(store: PostgresStore): Promise<string> {
  const { schema } = store;
  const user = uniqueName('operator');
  await store.query(`CREATE ROLE ${user} LOGIN PASSWORD '${PASSWORD}'; GRANT USAGE ON SCHEMA ${schema} TO ${user};
    GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${user}; GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO ${user}`);
  onTestFinished(async () => {
    await store.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
  });
  return Object.assign(new URL(requireDatabaseUrl()), { username: user, password: PASSWORD }).href;
}

function idsIn(file: string): string[] {
  const rows = parse(readFileSync(file), { columns: true }) as { id: string }[];
  return rows.map(({ id }) => id);
}

test('query and export read the ledger of a server while leadsync runs, from any machine', async () => {
  const { scene, other } = await delivered();
  const sql = 'SELECT id FROM v_leads WHERE id < :below ORDER BY id';
  expect(await other.run('query', sql, '--set', 'below=3')).toMatchObject({
    code: 0,
    stdout: 'id\r\n1\r\n2\r\n',
  });
  expect(await other.run('query', '@leads-by-day', '--set', 'since=9000d')).toMatchObject({
    code: 0,
    stderr: '',
  });
  const limited = await other.run(
    'query',
    'SELECT id FROM leads ORDER BY id',
    '--limit',
    '1',
    '--format',
    'jsonl',
  );
  expect(limited).toMatchObject({ code: 0, stdout: '{"id":1}\n' });
  expect(limited.stderr).toContain('there are more');
  const wrong = await other.run('query', 'SELECT phone FROM v_leads');
  expect([wrong.code, wrong.stdout]).toEqual([2, '']);
  expect(wrong.stderr).toContain('v_leads has source, id,');

  const file = join(tempDir(), 'leads.csv');
  expect(await other.run('export', file)).toMatchObject({
    code: 0,
    stdout: `leads  ${LEADS} rows\nWrote ${file}\n`,
  });
  expect(idsIn(file)).toEqual(IDS);
  const scheduled = await other.run('export', '--name', 'nightly');
  expect(scheduled).toMatchObject({ code: 0, stderr: '' });
  expect(idsIn(/^Wrote (.+)$/m.exec(scheduled.stdout)?.[1] ?? '')).toEqual(IDS);
  expect(await scene.store.contradictions()).toEqual([]);
});

test('a support bundle shows the server of a ledger by its version, sizes and settings, and has no password', async () => {
  const { other } = await delivered();
  const [output, folder] = [join(tempDir(), 'bundle.tar.gz'), tempDir()];
  expect(await other.run('support-bundle', '--output', output)).toMatchObject({ code: 0 });
  spawnSync('tar', ['-xzf', output, '-C', folder, '--strip-components=1']);
  const ledger = JSON.parse(readFileSync(join(folder, 'ledger.json'), 'utf8'));
  expect(ledger).toMatchObject({
    postgres: expect.stringMatching(/^\d+/),
    rows: { _leads: LEADS },
    tables: { _leads: { bytes: expect.any(Number) } },
    settings: { max_connections: expect.any(String) },
  });
  expect(spawnSync('grep', ['-rF', PASSWORD, folder]).stdout.toString()).toBe('');
});
