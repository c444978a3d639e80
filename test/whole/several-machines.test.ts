import { expect, onTestFinished, test } from 'vitest';
import { DUTY_LEASE_MS } from '../../src/ledger/rules/machines/lease-times.ts';
import { isOwing } from '../support/scene/is-owing.ts';
import { accountOf, faultsOf, repeatsOfKills } from '../support/scene/oracle.ts';
import { carriers, lastOfEach } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { aServerScene, type Machine, type ServerScene } from './server-ledger.ts';

const ON_TIME_MS = 60_000;
const STREAM = { leads: 200, leadsPerSecond: 50 };

/** Starts `leadsync run` on so many machines of a scene. */
async function start(scene: ServerScene, count: number): Promise<Machine[]> {
  const machines = [];
  for (let number = 1; number <= count; number += 1) machines.push(await scene.onAnotherMachine());
  for (const machine of machines) machine.start('run');
  return machines;
}

/** Returns the machine that holds a duty; undefined if none does. */
async function holder(scene: ServerScene, machines: readonly Machine[], duty: string) {
  const rows = await scene.store.query<{ machine: string }>(
    `SELECT p.machine FROM _duty_leases d JOIN _processes p ON p.holder = d.holder WHERE d.duty = '${duty}' AND d.held_until > _now()`,
  );
  return machines.find(({ name }) => name === rows[0]?.machine);
}

/** Waits until one of the machines polls, and returns it. */
function poller(scene: ServerScene, machines: readonly Machine[]): Promise<Machine> {
  return until('a machine polls', () => holder(scene, machines, 'poll:main'), ON_TIME_MS);
}

const polls = async ({ store }: ServerScene) =>
  (await store.query<{ at: number }>('SELECT started_at::float8 AS at FROM _polls ORDER BY poll_id')).map(
    ({ at }) => at,
  );

/** Waits until every lead has arrived and is settled, and stops what runs. Returns the faults. */
async function faultsAtTheEnd(scene: ServerScene, machines: readonly Machine[], kills: number) {
  scene.stub.arrive(0);
  await until('every lead has arrived', () => arrived(scene), ON_TIME_MS);
  const [first] = machines;
  await until('everything is settled', async () => !(await isOwing(String(first?.adminUrl))), ON_TIME_MS);
  for (const { running } of machines)
    expect(await running?.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(await scene.store.contradictions()).toEqual([]);
  return faultsOf(await accountOf(scene), { repeats: kills > 0 ? repeatsOfKills(kills) : false });
}

test.each(carriers)(
  'of three machines on one ledger, one polls; when it is killed, another one does within a lease and a beat (%s)',
  async (carrier) => {
    const scene = await aServerScene(carrier, { stub: STREAM });
    const machines = await start(scene, 3);
    await until('some leads have arrived', () => scene.receiver.received.length > 100, ON_TIME_MS);
    const killed = await poller(scene, machines);
    await killed.running?.kill('SIGKILL');
    const last = (await polls(scene)).at(-1) ?? 0;
    const others = machines.filter((one) => one !== killed);
    const next = await poller(scene, others);
    expect(next.name).not.toBe(killed.name);
    const at = await until(
      'it is polled again',
      async () => (await polls(scene)).find((one) => one > last),
      ON_TIME_MS,
    );
    // The last poll began up to a second before the kill.
    expect(at - last).toBeLessThan(1.25 * DUTY_LEASE_MS + 5_000);
    expect(await faultsAtTheEnd(scene, others, 1)).toEqual([]);
  },
);

test('a machine that is frozen while it polls and delivers loses its duties, comes back and goes on, and no lead is lost', async () => {
  const scene = await aServerScene('in-process', { stub: STREAM });
  const machines = await start(scene, 2);
  await until('some leads have arrived', () => scene.receiver.received.length > 100, ON_TIME_MS);
  const frozen = await poller(scene, machines);
  onTestFinished(() => void frozen.running?.process.kill('SIGCONT'));
  frozen.running?.process.kill('SIGSTOP');
  const others = machines.filter((one) => one !== frozen);
  await poller(scene, others);
  const before = scene.receiver.received.length;
  await until('the other one delivers', () => scene.receiver.received.length > before + 100, ON_TIME_MS);
  frozen.running?.process.kill('SIGCONT');
  expect(await until('it shows again that it is alive', () => isAlive(scene, frozen), ON_TIME_MS)).toBe(true);
  expect(frozen.running?.process.exitCode).toBeNull();
  // What it was sending when it froze may have arrived, or not.
  expect(await faultsAtTheEnd(scene, machines, 1)).toEqual([]);
});

test('a machine that stops in order hands its duties over, one that comes delivers too, and no lead arrives twice', async () => {
  const scene = await aServerScene('in-process', { stub: STREAM });
  const machines = await start(scene, 2);
  await until('some leads have arrived', () => scene.receiver.received.length > 100, ON_TIME_MS);
  const stopped = await poller(scene, machines);
  expect(await stopped.running?.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const others = machines.filter((one) => one !== stopped);
  const before = (await polls(scene)).length;
  await until('another one polls', async () => (await polls(scene)).length > before + 2, ON_TIME_MS);
  stopped.start('run');
  await until('it delivers', async () => (await attempting(scene)).size === 2, ON_TIME_MS);
  expect(await poller(scene, machines)).toBe(others[0]);
  expect(await faultsAtTheEnd(scene, machines, 0)).toEqual([]);
});

test('a machine that was frozen while its ledger was copied to a file does not go on with it, and says why', async () => {
  const scene = await aServerScene('in-process', { stub: { leads: 20 } });
  const machines = await start(scene, 1);
  const [frozen] = machines as [Machine];
  await until('the leads are delivered', () => arrived(scene), ON_TIME_MS);
  const other = await scene.onAnotherMachine();
  const copy = () => other.run('ledger', 'copy', '--from', 'postgres', '--to', 'sqlite');
  expect(await copy()).toMatchObject({
    code: 75,
    stderr: expect.stringContaining(
      `is to be copied, and others work on it: leadsync run on ${frozen.name}, since `,
    ),
  });
  onTestFinished(() => void frozen.running?.process.kill('SIGCONT'));
  frozen.running?.process.kill('SIGSTOP');
  // As if it had stood still for a lease.
  await scene.store.query('UPDATE _processes SET seen_at = 0');
  expect(await copy()).toMatchObject({ code: 0, stdout: expect.stringContaining('both are equal') });
  scene.stub.addLeads(5);
  frozen.running?.process.kill('SIGCONT');
  expect(await frozen.running?.exited).toEqual({ code: 1, signal: null });
  expect(frozen.running?.log).toContainEqual(
    expect.objectContaining({ event: 'ledger-failed', reason: expect.stringContaining(' was moved to ') }),
  );
  expect((await other.run('run')).stderr).toContain(' was moved to ');
});

test('sync leaves the sources to the machines that poll them, and says which', async () => {
  const scene = await aServerScene('in-process', { stub: { leads: 3 } });
  const [machine] = await start(scene, 1);
  await poller(scene, machine ? [machine] : []);
  const other = await scene.onAnotherMachine();
  const synced = await other.run('sync');
  expect(synced.code).toBe(75);
  expect(synced.stderr).toContain(`main: A leadsync run on ${machine?.name} polls it.`);
  await machine?.running?.kill('SIGTERM');
  expect(await other.run('sync')).toMatchObject({ code: 0 });
});

test('an operator who asks any machine for a poll gets one', async () => {
  const scene = await aServerScene('in-process', {
    stub: { leads: 2 },
    source: { poll: { cron: '0 0 1 1 *', timezone: 'UTC' } },
  });
  const machines = await start(scene, 2);
  await until('the first leads are delivered', () => arrived(scene), ON_TIME_MS);
  const polling = await poller(scene, machines);
  const other = machines.find((one) => one !== polling);
  scene.stub.addLeads(3);
  expect(await other?.run('poll', 'main')).toMatchObject({ code: 0 });
  await until('the new leads are delivered', () => arrived(scene), ON_TIME_MS);
});

test('workers of other machines deliver what one machine dispatches', async () => {
  const scene = await aServerScene('bullmq', { stub: { leads: 60 } });
  const machine = await scene.onAnotherMachine();
  machine.start('run', '--no-deliver');
  await poller(scene, [machine]); // a worker does not create a ledger
  const worker = await scene.onAnotherMachine();
  worker.start('worker');
  await until('every lead has arrived', () => arrived(scene), ON_TIME_MS);
  expect(await worker.running?.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});

/** Whether a machine has shown within a second that it is alive. */
async function isAlive(scene: ServerScene, { name }: Machine): Promise<boolean> {
  const rows = await scene.store.query(
    `SELECT 1 FROM _processes WHERE machine = '${name}' AND seen_at > _now() - 1000`,
  );
  return rows.length > 0;
}

/** Returns the processes whose attempts are in progress. */
async function attempting({ store }: ServerScene): Promise<Set<string>> {
  const rows = await store.query<{ holder: string }>(
    'SELECT DISTINCT holder FROM _batches WHERE holder IS NOT NULL',
  );
  return new Set(rows.map(({ holder: name }) => name));
}

/** Whether every sink holds every lead that the service shows. */
async function arrived(scene: ServerScene): Promise<boolean> {
  const held = await scene.held();
  return Object.values(held).every((leads) => lastOfEach(leads).size === scene.stub.shown);
}
