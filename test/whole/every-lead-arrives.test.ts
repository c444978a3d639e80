import { describe, expect, test } from 'vitest';
import { aScene } from '../support/scene/a-scene.ts';
import { accountOf, faultsOf, repeatsOfKills } from '../support/scene/oracle.ts';
import { carriers, type Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';

/** Number of leads shown while leadsync runs, stops and starts again. */
const LEADS = 1_000;

describe.each(carriers)('with the %s carrier', (carrier) => {
  test('every lead arrives at all three sinks exactly once, across orderly restarts', async () => {
    const scene = await aScene(carrier, { stub: { leads: LEADS * 0.4 } });
    scene.stub.arrive(100);
    for (const part of [0.5, 0.7]) await runUntil(scene, LEADS * part, 'SIGTERM');
    await runUntil(scene, LEADS, 'SIGTERM');
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  });

  test('a leadsync that is killed repeatedly loses nothing, and a repeat carries the same webhook-id', async () => {
    const scene = await aScene(carrier, { stub: { leads: LEADS * 0.4 } });
    scene.stub.arrive(100);
    for (const part of [0.1, 0.5, 0.7]) await runUntil(scene, LEADS * part, 'SIGKILL');
    await runUntil(scene, LEADS, 'SIGTERM');
    expect(faultsOf(await accountOf(scene), { repeats: repeatsOfKills(3) })).toEqual([]);
  });
});

test('a lead that changes and changes back arrives each time, and its final content is the first', async () => {
  const changes = { events: ['created', 'updated'] };
  const scene = await aScene('in-process', { stub: { leads: 3 }, sinks: { crm: changes, drop: changes } });
  const daemon = await scene.start();
  await until('every lead is everywhere', () => scene.complete(), 30_000);
  for (const change of [scene.stub.changeLead, scene.stub.changeLeadBack]) {
    const version = change.call(scene.stub, 2);
    await until('the changed lead is served', () => scene.stub.served.newest(2) === version);
    await until('every lead is everywhere', () => scene.complete(), 30_000);
  }
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  const { crm, drop } = await scene.held();
  for (const there of [crm, drop])
    expect(there.filter(({ lead }) => lead === '2').map(({ version }) => version)).toEqual([1, 2, 1]);
});

test('two services with the same ids: each lead of each service arrives everywhere once, with its own content', async () => {
  const changes = { events: ['created', 'updated'] };
  const scene = await aScene('in-process', {
    stub: { leads: 20 },
    services: { other: { leads: 15, seed: 2 } },
    sinks: { crm: changes, drop: changes },
  });
  const daemon = await scene.start();
  await until('every lead is everywhere', () => scene.complete(), 30_000);
  const { main, other } = scene.services;
  main?.removeLead(5);
  main?.changeLead(4);
  other?.changeLead(3);
  await until(
    'the changed lead is served',
    () => main?.served.newest(4) === 2 && other?.served.newest(3) === 2,
  );
  await until('every lead is everywhere', () => scene.complete(), 30_000);
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const account = await accountOf(scene);
  expect(account.served).toBe(35);
  expect(faultsOf(account, { repeats: false })).toEqual([]);
});

test('refused leads are dead and leads left out of a backfill are skipped, each with a reason; all others arrive', async () => {
  const scene = await aScene('in-process', { stub: { leads: 10 }, sinks: { drop: { backfill: false } } });
  scene.receiver.answerAlways(
    ({ body }, res) => void res.writeHead(body.includes('"data":{"id":3,') ? 422 : 204).end(),
  );
  const daemon = await scene.start();
  const has = async (sink: 'crm' | 'warehouse', leads: number) => (await scene.held())[sink].length === leads;
  await until('the table has the first', () => has('warehouse', 10));
  const old = scene.stub.served.ids().map((id) => `main:${id}`);
  scene.stub.addLeads(5);
  await until(
    'they and the later ones are there',
    async () => (await has('crm', 14)) && has('warehouse', 15),
  );
  await until('the files have the later ones', async () => (await scene.held()).drop.length === 5);
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const account = await accountOf(scene);
  const allowed = { repeats: false, dead: { crm: ['main:3'] }, skipped: { drop: old } };
  expect(faultsOf(account, allowed)).toEqual([]);
  expect(account.sinks.crm.dead).toEqual(['main:3']);
  expect(account.sinks.drop.skipped.toSorted()).toEqual(old.toSorted());
});

/** Runs leadsync until the webhook has this many leads or, for the last run, until every sink has all of them. */
async function runUntil(scene: Scene, leads: number, signal: NodeJS.Signals): Promise<void> {
  const daemon = await scene.start();
  await until(`${leads} leads have arrived`, () => scene.receiver.received.length >= leads, 60_000);
  if (leads === LEADS) {
    scene.stub.arrive(0);
    await until('every lead is everywhere', () => scene.complete(), 90_000);
  }
  const exit = await daemon.kill(signal);
  if (signal === 'SIGTERM') expect(exit).toEqual({ code: 0, signal: null });
}
