import { describe, expect, test } from 'vitest';
import { aScene } from '../support/a-scene.ts';
import { accountOf, faultsOf } from '../support/oracle.ts';
import { carriers, type Scene } from '../support/scene.ts';
import { until } from '../support/until.ts';

/** So many leads are shown while leadsync runs, stops and starts again. */
const LEADS = 1_000;

describe.each(carriers)('with the %s carrier', (carrier) => {
  test('every lead arrives at all three sinks exactly once, over orderly restarts', async () => {
    const scene = await aScene(carrier, { stub: { leads: LEADS * 0.4 } });
    scene.stub.arrive(100);
    for (const part of [0.5, 0.7]) await runUntil(scene, LEADS * part, 'SIGTERM');
    await runUntil(scene, LEADS, 'SIGTERM');
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  }, 60_000);

  test('killed again and again, it loses nothing, and a repeat carries the same webhook-id', async () => {
    const scene = await aScene(carrier, { stub: { leads: LEADS * 0.4 } });
    scene.stub.arrive(100);
    for (const part of [0.1, 0.5, 0.7]) await runUntil(scene, LEADS * part, 'SIGKILL');
    await runUntil(scene, LEADS, 'SIGTERM');
    expect(faultsOf(await accountOf(scene), { repeats: true })).toEqual([]);
  }, 120_000);
});

/** Lets leadsync run until so many leads are at the webhook, or, at the last, until all of them are everywhere. */
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
