import { readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { startLeadsync } from '../support/program/leadsync.ts';
import { isOwing } from '../support/scene/is-owing.ts';
import { accountOf, faultsOf, repeatsOfKills } from '../support/scene/oracle.ts';
import { carriers, lastOfEach } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { aServerScene, type ServerScene } from './server-ledger.ts';

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

test('one leadsync works with a ledger; the error of another one names it, and that one takes over after the first has ended', async () => {
  const scene = await aServerScene('in-process', { stub: { leads: 3 } });
  const first = await scene.start();
  await until('all are delivered', () => scene.complete(), ON_TIME_MS);
  const other = await scene.onAnotherMachine({ ledger: ledgerOf(scene, { create: 'always' }) });
  for (const command of ['run', 'sync']) {
    const { code, stderr } = await other.run(command);
    expect(code).toBe(75);
    expect(stderr).toContain(
      `Another leadsync works with the ledger in the schema ${scene.store.schema} of `,
    );
    expect(stderr).toMatch(
      new RegExp(`process ${first.process.pid} on ${hostname()}, since \\d{4}-\\d\\d-\\d\\dT[\\d:]{8}Z\\.`),
    );
  }
  const checked = await other.run('check');
  expect(checked.stdout).toContain(`It is in use by process ${first.process.pid} on ${hostname()}, since `);
  const status = await other.run('status');
  expect(status.code).toBe(0);
  expect(status.stdout).toMatch(
    /No leadsync is running on this data directory\. Another one works with the ledger, .*: process \d+ on /,
  );
  expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  scene.stub.addLeads(1);
  const synced = await other.run('sync');
  expect(synced).toMatchObject({ code: 0, stdout: expect.stringContaining('crm: 1 delivered (4 in total)') });
  expect(scene.receiver.received).toHaveLength(4);
});

test('a leadsync that was frozen while another one took the ledger over stops, and no lead arrives twice', async () => {
  // What the frozen one has claimed is attempted again when its leases end: soon, with short timeouts.
  const timeout = '3s';
  const scene = await aServerScene('in-process', {
    stub: { leads: 100, leadsPerSecond: 50 },
    sinks: { crm: { timeout }, drop: { timeout }, warehouse: { timeout } },
  });
  const frozen = await scene.start();
  onTestFinished(() => void frozen.process.kill('SIGCONT'));
  await until('some leads have arrived', () => scene.receiver.received.length > 120, ON_TIME_MS);
  frozen.process.kill('SIGSTOP');
  // As if it had been frozen for as long as its leases last.
  await scene.store.query('UPDATE _duties SET held_until = 0; UPDATE _batches SET leased_until = 0');
  const other = await scene.onAnotherMachine({ ledger: ledgerOf(scene, { create: 'always' }) });
  const second = other.start('run');
  const at = () => scene.receiver.received.length;
  const before = at();
  await until('the other one delivers', () => at() > before + 100, ON_TIME_MS);
  frozen.process.kill('SIGCONT');
  expect(await frozen.exited).toEqual({ code: 1, signal: null });
  expect(frozen.log).toContainEqual(
    expect.objectContaining({
      event: 'ledger-taken-over',
      by: expect.stringContaining(`process ${second.process.pid} on ${hostname()}`),
    }),
  );
  scene.stub.arrive(0);
  await until('every lead has arrived', () => arrived(scene), ON_TIME_MS);
  await until('everything is settled', async () => !(await isOwing(other.adminUrl)), ON_TIME_MS);
  expect(await second.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  // The attempts that were frozen may have sent before their leases ended, or not.
  expect(faultsOf(await accountOf(scene), { repeats: repeatsOfKills(1) })).toEqual([]);
  expect(await scene.store.contradictions()).toEqual([]);
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

test('a worker delivers beside the leadsync that holds the ledger', async () => {
  const scene = await aServerScene('bullmq', { stub: { leads: 50 } });
  const daemon = await scene.start({ args: ['run', '--no-deliver'] });
  const worker = startLeadsync(['worker', '-c', scene.configFile]);
  onTestFinished(() => void worker.process.kill('SIGKILL'));
  await until('every lead is everywhere', () => scene.complete(), ON_TIME_MS);
  await until('everything is settled', async () => !(await isOwing(scene.adminUrl)), ON_TIME_MS);
  for (const one of [worker, daemon]) expect(await one.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

function ledgerOf({ store }: ServerScene, more: Readonly<Record<string, unknown>>) {
  const { url, schema } = store.place();
  return { url, schema, ...more };
}

/** Whether every sink holds every lead that the service shows. */
async function arrived(scene: ServerScene): Promise<boolean> {
  const held = await scene.held();
  return Object.values(held).every((leads) => lastOfEach(leads).size === scene.stub.shown);
}
