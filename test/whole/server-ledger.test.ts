import { readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { startLeadsync } from '../support/program/leadsync.ts';
import { isOwing } from '../support/scene/is-owing.ts';
import { accountOf, faultsOf, repeatsOfKills } from '../support/scene/oracle.ts';
import { carriers } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { aServerScene } from './server-ledger.ts';

const ON_TIME_MS = 60_000;

test.each(carriers)(
  'with a ledger in PostgreSQL, every lead arrives, and none twice but those being sent when leadsync is killed (%s)',
  async (carrier) => {
    const scene = await aServerScene(carrier, { stub: { leads: 200, leadsPerSecond: 50 } });
    const first = await scene.start();
    await until('some leads have arrived', () => scene.receiver.received.length > 50, ON_TIME_MS);
    await first.kill('SIGKILL');
    // The same data directory: the next process knows that the first one is dead, and does not wait for its lease.
    const second = await scene.start();
    await until('more leads have arrived', () => scene.receiver.received.length > 250, ON_TIME_MS);
    await second.kill('SIGKILL');
    const third = await scene.start();
    scene.stub.arrive(0);
    await until('every lead is everywhere', () => scene.complete(), ON_TIME_MS);
    await until('everything is settled', async () => !(await isOwing(scene.adminUrl)), ON_TIME_MS);
    expect(await third.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(faultsOf(await accountOf(scene), { repeats: repeatsOfKills(2) })).toEqual([]);
    expect(await scene.store.contradictions()).toEqual([]);
    expect(readdirSync(scene.dataDir).filter((name) => name.startsWith('ledger'))).toEqual([]);
    // A ledger in PostgreSQL is not copied to a sink.
    expect(await scene.query(`SELECT 1 FROM ${scene.schema}.polls`)).toEqual([]);
  },
);

test('leadsync stops when another ledger replaces its ledger, and names the place', async () => {
  const scene = await aServerScene('in-process', { stub: { leads: 3 } });
  const daemon = await scene.start();
  await until('all are delivered', () => scene.complete(), ON_TIME_MS);
  await scene.store.query("UPDATE _ledger SET id = 'another'");
  expect(await daemon.exited).toEqual({ code: 1, signal: null });
  expect(daemon.log).toContainEqual(
    expect.objectContaining({
      event: 'ledger-replaced',
      where: expect.stringContaining(`the schema ${scene.store.schema} of PostgreSQL at `),
    }),
  );
});

test('a check and a status on another machine name the processes that work on the ledger', async () => {
  const scene = await aServerScene('in-process', { stub: { leads: 3 } });
  const first = await scene.start();
  await until('all are delivered', () => scene.complete(), ON_TIME_MS);
  const other = await scene.onAnotherMachine();
  const process = new RegExp(`leadsync run on ${hostname()}, since \\d{4}-\\d\\d-\\d\\dT[\\d:]{8}Z\\.`);
  expect((await other.run('check')).stdout).toMatch(new RegExp(`These work on it: ${process.source}`));
  const status = await other.run('status');
  expect(status.code).toBe(0);
  expect(status.stdout).toContain('No leadsync is running on this data directory. These work on the ledger');
  expect(status.stdout).toMatch(process);
  expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});

test.each([
  ['in-process', ['run']],
  ['bullmq', ['worker']],
] as const)(
  'a leadsync whose ledger a newer one has upgraded stops and says so (%s, %s)',
  async (carrier, args) => {
    const scene = await aServerScene(carrier, { stub: { leads: 3 } });
    const daemon = await scene.start(carrier === 'bullmq' ? { args: ['run', '--no-deliver'] } : {});
    const older = carrier === 'bullmq' ? startLeadsync([...args, '-c', scene.configFile]) : daemon;
    onTestFinished(() => void older.process.kill('SIGKILL'));
    await until('all are delivered', () => scene.complete(), ON_TIME_MS);
    await scene.store.query('UPDATE _ledger SET shape = shape + 1');
    expect(await older.exited).toEqual({ code: 1, signal: null });
    expect(older.log).toContainEqual(
      expect.objectContaining({
        event: 'ledger-failed',
        reason: expect.stringContaining('was written by a newer leadsync'),
      }),
    );
    expect(older.log).toContainEqual(
      expect.objectContaining({ event: 'stopping', signal: 'a newer leadsync has upgraded the ledger' }),
    );
  },
);

test('a worker delivers beside a leadsync that only dispatches', async () => {
  const scene = await aServerScene('bullmq', { stub: { leads: 50 } });
  const daemon = await scene.start({ args: ['run', '--no-deliver'] });
  const worker = startLeadsync(['worker', '-c', scene.configFile]);
  onTestFinished(() => void worker.process.kill('SIGKILL'));
  await until('every lead is everywhere', () => scene.complete(), ON_TIME_MS);
  await until('everything is settled', async () => !(await isOwing(scene.adminUrl)), ON_TIME_MS);
  for (const one of [worker, daemon]) expect(await one.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});
