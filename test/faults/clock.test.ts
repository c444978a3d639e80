import { renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../support/scene/oracle.ts';
import type { CarrierName, Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { expectCalm } from './calm.ts';
import { logged, statusOf, told } from './telling.ts';

/** The kinds of schedule, each with a carrier. */
const ways: readonly [name: string, CarrierName, poll: Readonly<Record<string, string>>][] = [
  ['polled every second over the in-process carrier', 'in-process', { every: '1s' }],
  ['polled every second over the bullmq carrier', 'bullmq', { every: '1s' }],
  ['polled by cron', 'in-process', { cron: '* * * * * *' }],
];

// Fault 41, the machine's clock: a real process whose `Date` is set ahead and back from outside. (service.test.ts covers the service's own
// clock.)

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CLOCK = fileURLToPath(new URL('jumping-clock.ts', import.meta.url));

describe.each(ways)('a changed clock, with a source that is %s', (_, carrier, poll) => {
  test('41. with the clock a day ahead and then two days back, leadsync neither floods nor stalls, and still probes a held sink', async () => {
    const scene = await aScene(carrier, {
      stub: { leads: 10 },
      source: { poll },
      sinks: { drop: { batch: { max: 100, wait: '1s' } } },
      receivers: { down: { retry: { schedule: ['200ms', '1s'] } } },
    });
    const down = scene.receivers['down'] ?? expect.unreachable('there is no such receiver');
    const env = { NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_OFFSET_FILE: clockOf(scene) };
    setClock(scene, 0);
    const daemon = await scene.start({ env });
    await until('the first leads have arrived', () => haveArrived(scene), 60_000);

    setClock(scene, DAY_MS);
    await expectNeitherStormNorStall(scene);

    // Held until a time that is then two days ahead.
    down.answerAlways(503);
    scene.stub.addLeads(3);
    await told(daemon, 'sink-held', { sink: 'down' });
    setClock(scene, -DAY_MS);
    await told(daemon, 'clock-set-back');
    const { probe_at } = (await statusOf(scene)).sinks['down'] ?? {};
    expect(Date.parse(probe_at ?? '') - (Date.now() - DAY_MS)).toBeLessThan(75_000);
    const requests = down.received.length;
    await expectNeitherStormNorStall(scene);
    expect(down.received.length - requests).toBeLessThan(10);
    down.answerAlways(204);
    await until('every lead is everywhere', () => scene.complete(), 120_000);
    await expectCalm(daemon);
    expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    // The ledger now contains times in the future.
    setClock(scene, -3 * DAY_MS);
    const again = await scene.start({ env });
    await expectNeitherStormNorStall(scene);
    await until('every lead is everywhere', () => scene.complete(), 120_000);
    await expectCalm(again);
    expect(logged(again, 'sink-held')).toEqual([]);
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  });
});

test('41. a daily poll whose time passes while leadsync is not running or is stopped happens as soon as it is back', async () => {
  const scene = await aScene('in-process', {
    stub: { leads: 10 },
    source: { poll: { cron: '0 0 8 * * *', timezone: 'UTC' } },
  });
  const { stub } = scene;
  const toEightMs = Date.parse('2026-11-20T08:00:00Z') - Date.now();
  const env = { NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_OFFSET_FILE: clockOf(scene) };
  setClock(scene, toEightMs - HOUR_MS);
  const synced = await runLeadsync(['sync', '-c', scene.configFile], { env });
  expect(synced.code).toBe(0);
  expect(stub.listingRequests).toBe(1);

  setClock(scene, toEightMs + HOUR_MS);
  stub.addLeads(3);
  const daemon = await scene.start({ env });
  await until('the new leads have arrived', () => haveArrived(scene), 60_000);
  expect(stub.listingRequests).toBe(2);

  daemon.process.kill('SIGSTOP');
  setClock(scene, toEightMs + HOUR_MS + DAY_MS);
  stub.addLeads(3);
  daemon.process.kill('SIGCONT');
  await until('the new leads have arrived', () => haveArrived(scene), 60_000);
  expect(stub.listingRequests).toBe(3);
  expect(daemon.stderr).not.toContain('NODE-CRON');
});

/** Checks that new leads still arrive, that the service gets about one request per second, and that it issues at most two tokens. */
async function expectNeitherStormNorStall(scene: Scene): Promise<void> {
  const { stub } = scene;
  const startMs = performance.now();
  const before = { listing: stub.listingRequests, token: stub.tokenRequests };
  stub.addLeads(10);
  await until('the new leads have arrived', () => haveArrived(scene), 60_000);
  await until('three more polls were made', () => stub.listingRequests >= before.listing + 4, 60_000);
  const seconds = (performance.now() - startMs) / 1000;
  expect(stub.listingRequests - before.listing).toBeLessThanOrEqual(Math.ceil(seconds) + 2);
  expect(stub.tokenRequests - before.token).toBeLessThanOrEqual(2);
}

/** Whether every lead is at every sink that accepts leads. */
async function haveArrived(scene: Scene): Promise<boolean> {
  const { crm, drop, warehouse } = await scene.held();
  return [crm, drop, warehouse].every(
    (held) => new Set(held.map(({ lead }) => lead)).size === scene.stub.shown,
  );
}

function clockOf(scene: Scene): string {
  return join(dirname(scene.configFile), 'clock-offset-ms');
}

function setClock(scene: Scene, offsetMs: number): void {
  // Replace the file atomically: half a file would be half an offset.
  writeFileSync(`${clockOf(scene)}.new`, String(offsetMs));
  renameSync(`${clockOf(scene)}.new`, clockOf(scene));
}
