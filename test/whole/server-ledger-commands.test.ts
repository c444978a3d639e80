import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { startLeadsync } from '../support/program/leadsync.ts';
import { requireDatabaseUrl, uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { aServerScene, type ServerScene } from './server-ledger.ts';

const ON_TIME_MS = 60_000;

/** Runs a command and requires its exit code. Returns both outputs. */
async function output(scene: Pick<ServerScene, 'run'>, code: number, ...args: string[]): Promise<string> {
  const done = await scene.run(...args);
  const text = done.stdout + done.stderr;
  expect(`${args.join(' ')}: ${done.code}\n${done.code === code ? '' : text}`).toBe(
    `${args.join(' ')}: ${code}\n`,
  );
  expect(text).not.toContain('let-me-in');
  expect(text).not.toContain('ledger.db');
  return text;
}

test('the commands show and change a ledger in PostgreSQL, while leadsync runs and while it does not', async () => {
  const scene = await aServerScene('in-process', { stub: { leads: 3 }, receivers: { picky: {} } });
  const { schema } = scene.store;
  const where = `the schema ${schema} of PostgreSQL at `;
  const run = (code: number, ...args: string[]) => output(scene, code, ...args);

  expect(await run(0, 'check')).toContain(`The first run creates the ledger in ${where}`);
  expect(await run(1, 'status')).toMatch(/There is no ledger in the schema .*\n.*the first `leadsync run`/);
  expect(await run(0, 'plan')).toContain(`There is no ledger in ${where}`);

  // The first lead is refused for good, and the others are delivered.
  scene.receivers['picky']?.answerNext(422);
  expect(await run(1, 'sync')).toMatch(/main: 3 listed, 3 new\n.*\npicky: 2 delivered .* 1 dead/);
  expect(await run(0, 'status')).toContain('No leadsync is running on this data directory, so nothing');
  const daemon = await scene.start();
  expect(await run(0, 'status')).not.toContain('No leadsync is running');
  expect(await run(0, 'top', '--once')).toContain('running');
  expect(await run(0, 'check')).toContain('These work on it: leadsync run on ');
  expect(await run(0, 'trace', '1')).toContain('crm:main:1:1:');
  expect(await run(0, 'deliveries', '--state', 'dead')).toContain('picky:main:');
  expect(await run(0, 'rejected')).toContain('No rejected lead');
  expect(await run(0, 'poll')).toContain('main: 3 listed');
  expect(await run(0, 'plan')).toContain('No source, sink or export would change.');
  expect(await run(0, 'reload')).toContain('Nothing has changed.');
  expect(await run(0, 'config', 'show')).toMatch(/ledger\.url +postgresql:\/\/127\.0\.0\.1:\d+\/\[secret\]/);

  const received = () => scene.receiver.received.length;
  const tail = startLeadsync(['tail', '-c', scene.configFile]);
  onTestFinished(async () => void (await tail.kill('SIGKILL')));
  expect(await run(0, 'pause', 'crm')).toContain('crm is paused');
  scene.stub.addLeads(1);
  await until('the paused sink is owed a lead', async () => {
    const [row] = await scene.store.query<{ n: number }>(
      "SELECT count(*)::int AS n FROM _deliveries WHERE state = 'pending'",
    );
    return row?.n === 1;
  });
  expect(received()).toBe(3);
  expect(await run(0, 'resume', 'crm')).toContain('crm is resumed');
  await until('the lead has arrived', () => received() === 4, ON_TIME_MS);
  await until('tail shows it', () => /delivered +crm main 4:/.test(tail.stdout), ON_TIME_MS);
  expect(await run(0, 'retry', '--sink', 'picky', '--yes')).toContain('1 delivery is due now');
  await until(
    'the refused lead has arrived',
    () => scene.receivers['picky']?.received.length === 5,
    ON_TIME_MS,
  );
  expect(await run(0, 'replay', '--sink', 'crm', '--lead', '1', '--yes')).toContain('1 lead is owed to crm');
  await until('the lead has arrived again', () => received() === 5, ON_TIME_MS);
  expect(await run(0, 'reconcile', '--sink', 'warehouse')).toContain('4 held, 0 missing, 0 foreign');
  expect(await run(1, 'erase', '2', '--yes')).toContain('reached      ledger: Erased. The database server');
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(daemon.log).toContainEqual(
    expect.objectContaining({ event: 'started', where: expect.stringContaining(where) }),
  );

  expect(await run(0, 'discard', '--sink', 'picky', '--note', 'no', '--yes')).toContain('0 deliveries');
  expect(await run(0, 'ledger', 'accept')).toContain(`There already is a ledger in ${where}`);
  for (const [command, instead] of [
    ['backup --to out', 'pg_dump'],
    ['restore backup.sqlite', 'pg_restore'],
    ['recover', 'pg_amcheck'],
  ] as const)
    expect(await run(78, ...command.split(' '))).toMatch(
      new RegExp(`The ledger is in ${where}.*\n.*${instead}`),
    );
  await scene.store.query(`DROP SCHEMA ${schema} CASCADE`);
  const lost = await run(78, 'run');
  expect(lost).toContain('but this installation is not new: data_dir holds processes, erased.jsonl');
  expect(lost).toContain('If ledger.url or ledger.schema names the wrong place, correct it.');
});

test('a command says what is wrong with the server of the ledger', async () => {
  const scene = await aServerScene('in-process', { stub: { leads: 1 } });
  const { schema, query } = { schema: scene.store.schema, query: (sql: string) => scene.store.query(sql) };
  const user = uniqueName('user');
  await query(`CREATE ROLE ${user} LOGIN PASSWORD 'let-me-in'`);
  onTestFinished(async () => void (await query(`DROP OWNED BY ${user}; DROP ROLE ${user}`)));
  const at = async (change: (url: URL) => void) => {
    const url = new URL(requireDatabaseUrl());
    url.username = user;
    url.password = 'let-me-in';
    change(url);
    const ledger = { url: url.href, schema };
    return Object.assign(await scene.onAnotherMachine({ ledger, sinks: {} }), { ledger });
  };
  const asUser = await at(() => undefined);
  expect(await output(asUser, 1, 'run')).toContain(`The user ${user} may not create the schema ${schema}`);
  const away = await at((url) => {
    url.port = '1';
  });
  expect(await output(away, 69, 'run')).toContain(':1 refuses the connection (ECONNREFUSED)');
  const nowhere = await at((url) => {
    url.pathname = '/no_such_database';
  });
  expect(await output(nowhere, 1, 'status')).toContain('its database does not exist');
  await query(`CREATE SCHEMA ${schema} AUTHORIZATION ${user}`);
  expect(await output(asUser, 0, 'sync')).toContain('main: 1 listed, 1 new');
  expect(await output(asUser, 0, 'query', 'SELECT count(*) AS n FROM leads')).toBe('n\r\n1\r\n');
  const file = join(tempDir(), 'leads.csv');
  await output(asUser, 0, 'export', file);
  expect(readFileSync(file, 'utf8').trim().split('\n')[0]).toMatch(/^source,/);
  const scheduled = tempDir();
  const lake = { type: 'directory', directory: scheduled, every: '1d', format: 'csv' };
  const exporting = await scene.onAnotherMachine({ ledger: asUser.ledger, sinks: {}, exports: { lake } });
  await output(exporting, 0, 'export', '--name', 'lake');
  expect(readdirSync(scheduled)).toHaveLength(1);
  await query(`ALTER ROLE ${user} SET default_transaction_read_only = on`);
  for (const command of ['run', 'status'])
    expect(await output(asUser, 69, command)).toContain('it is a standby, or set to read-only');
  await query(`ALTER ROLE ${user} RESET default_transaction_read_only`);
  await query('UPDATE _ledger SET shape = shape - 1');
  expect(await output(asUser, 1, 'status')).toContain('was written by an older leadsync');
  expect(await output(asUser, 0, 'check')).toContain(
    'An older leadsync wrote it; the next start upgrades it.',
  );
  await query('UPDATE _ledger SET shape = 1000');
  expect(await output(asUser, 1, 'run')).toContain('was written by a newer leadsync');
  await query('DROP TABLE _ledger');
  expect(await output(asUser, 1, 'run')).toContain("contains tables that are not a ledger's");
});
