import { describe, expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../support/leadsync.ts';
import { until } from '../support/until.ts';
import { carriers, sorted, type ThreeSinks, threeSinks } from './three-sinks.ts';

/** So many leads are shown while leadsync runs, stops and starts again. */
const LEADS = 1_000;

describe.each(carriers)('with the %s carrier', (carrier) => {
  test('every lead arrives at all three sinks exactly once, over orderly restarts', async () => {
    const scene = await threeSinks(carrier, { stub: { leads: LEADS * 0.4 } });
    scene.stub.arrive(100);
    for (const part of [0.5, 0.7]) await runUntil(scene, LEADS * part, 'SIGTERM');
    await runUntil(scene, LEADS, 'SIGTERM');
    const served = scene.served();
    for (const [sink, leads] of Object.entries(await scene.arrivals())) {
      expect([sink, sorted(leads)]).toEqual([sink, sorted(served)]);
    }
  }, 60_000);

  test('killed again and again, it loses nothing, and a repeat carries the same webhook-id', async () => {
    const scene = await threeSinks(carrier, { stub: { leads: LEADS * 0.4 } });
    scene.stub.arrive(100);
    for (const part of [0.1, 0.5, 0.7]) await runUntil(scene, LEADS * part, 'SIGKILL');
    await runUntil(scene, LEADS, 'SIGTERM');
    const served = sorted(scene.served());
    const { webhook, csv, postgres } = await scene.arrivals();
    expect(sorted([...new Set(webhook)])).toEqual(served);
    expect(sorted(csv)).toEqual(served);
    expect(sorted(postgres)).toEqual(served);
    expect([...scene.webhookIds().values()].filter((ids) => ids.size > 1)).toEqual([]);
  }, 120_000);
});

/** Lets leadsync run until so many leads are at the webhook, or, at the last, until all of them are everywhere. */
async function runUntil(scene: ThreeSinks, leads: number, signal: NodeJS.Signals): Promise<void> {
  const daemon = await startDaemon(scene.configFile, scene.adminUrl);
  onTestFinished(() => void daemon.process.kill('SIGKILL'));
  await until(`${leads} leads have arrived`, () => scene.receiver.received.length >= leads, 60_000);
  if (leads === LEADS) {
    scene.stub.arrive(0);
    await until('every lead is everywhere', () => scene.complete(), 90_000);
  }
  const exit = await daemon.kill(signal);
  if (signal === 'SIGTERM') expect(exit).toEqual({ code: 0, signal: null });
}
