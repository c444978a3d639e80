import { expect, it, vi } from 'vitest';
import { BatchThrottles } from '../../../src/daemon/joints/batch-throttle.ts';
import { CarrierUnavailable } from '../../../src/delivery/carrier.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { Bench, MINUTE, SECOND } from './bench.ts';
import { delivering, failing } from './fakes.ts';

it('dispatch claims nothing while the carrier is not ready, and then offers everything in order of age', async () => {
  const bench = await Bench.open({ concurrency: 5 });
  const unready = vi.spyOn(bench.carrier, 'unready').mockReturnValue('Redis is away.');
  const offer = vi.spyOn(bench.carrier, 'offer');
  offer.mockRejectedValue(new CarrierUnavailable('Redis is away.', 'It comes back.'));
  const before = bench.claims;
  await bench.list(1, 2, 3);
  await bench.clock.pass(5 * MINUTE);
  await bench.list(4);
  expect(bench.claims).toBe(before);
  expect(await bench.ledger.unbegunBatches('crm')).toEqual([]);
  unready.mockRestore();
  offer.mockRestore();
  bench.wake.notify();
  await bench.clock.pass(SECOND);
  expect(bench.sink.attempts).toEqual([[1n], [2n], [3n], [4n]]);
});

it('dispatch claims nothing while other processes may take this one for dead', async () => {
  let isAlive = false;
  const bench = await Bench.open({ life: { isAlive: () => isAlive, isAliveSince: () => isAlive } });
  await bench.list(1);
  await bench.clock.pass(MINUTE);
  expect([bench.claims, bench.sink.attempts]).toEqual([0, []]);
  isAlive = true;
  await bench.clock.pass(6 * SECOND);
  expect(bench.sink.attempts).toEqual([[1n]]);
});

it('dispatch offers what became due while the carrier was not ready within seconds, even if nothing wakes it', async () => {
  const bench = await Bench.open();
  const unready = vi.spyOn(bench.carrier, 'unready').mockReturnValue('Redis is away.');
  await bench.list(1);
  unready.mockRestore();
  await bench.clock.pass(5 * SECOND);
  expect(bench.sink.attempts).toEqual([[1n]]);
});

it('an operator’s pause and resume of a sink are reported once each, whichever process they come from', async () => {
  const bench = await Bench.open();
  await bench.ledger.pause('crm', 'The CRM is being moved');
  await bench.list(1);
  await bench.clock.pass(MINUTE);
  expect(bench.reported.of('sink-paused')).toMatchObject([{ sink: 'crm', reason: 'The CRM is being moved' }]);
  expect(bench.sink.attempts).toEqual([]);
  await bench.ledger.resume('crm');
  await bench.clock.pass(MINUTE);
  expect(bench.reported.of('sink-resumed')).toMatchObject([{ sink: 'crm' }]);
  expect(bench.reported.of('sink-paused')).toHaveLength(1);
  expect(bench.sink.attempts).toEqual([[1n]]);
});

it('a held sink that an operator resumes gets one probe, stays held if it fails, and recovers if it succeeds', async () => {
  const bench = await Bench.open({ concurrency: 5 });
  bench.sink.answer = failing;
  await bench.list(1, 2, 3, 4, 5, 6, 7);
  await bench.clock.pass(10 * MINUTE);
  expect(bench.reported.of('sink-held')).toHaveLength(1);
  const probed = async () => {
    const before = bench.sink.attempts.length;
    await bench.ledger.resume('crm');
    bench.wake.notify();
    await bench.clock.pass(SECOND);
    return bench.sink.attempts.slice(before);
  };
  expect(await probed()).toHaveLength(1);
  expect(await bench.states()).toEqual(Array(7).fill('pending'));
  bench.sink.answer = delivering;
  expect((await probed()).flat().sort()).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n]);
  expect(bench.reported.of('sink-held')).toHaveLength(1);
  expect(bench.reported.of('sink-recovered')).toHaveLength(1);
  expect(bench.reported.of('sink-resumed')).toEqual([]);
});

it('a sink that was held when an operator paused it is reported as resumed, although it is still held', async () => {
  const bench = await Bench.open();
  bench.sink.answer = failing;
  await bench.list(1);
  await bench.clock.pass(MINUTE);
  await bench.ledger.pause('crm', 'The CRM is being moved');
  await bench.clock.pass(MINUTE);
  await bench.ledger.resume('crm');
  await bench.clock.pass(MINUTE);
  expect(bench.reported.of('sink-resumed')).toMatchObject([{ sink: 'crm' }]);
  expect(bench.reported.of('sink-recovered')).toEqual([]);
});

it('a sink that an operator pauses while its probe is answered is reported as recovered', async () => {
  const bench = await Bench.open();
  bench.sink.answer = failing;
  await bench.list(1, 2);
  await bench.clock.pass(MINUTE);
  bench.sink.answer = async (batch) => {
    await bench.ledger.pause('crm', 'The CRM is being moved');
    return delivering(batch);
  };
  await bench.clock.pass(2 * MINUTE);
  expect(await bench.health()).toMatchObject({ heldSince: undefined, pausedSince: expect.any(Date) });
  expect(bench.reported.of('sink-recovered')).toHaveLength(1);
});

it('with a rate, no period has more batches than that; they begin in order of age, each as soon as the rate allows', async () => {
  const bench = await Bench.open({ concurrency: 5, rate: { batches: 2, perMs: SECOND } });
  await bench.list(1);
  await bench.clock.pass(900);
  await bench.list(2, 3, 4, 5);
  expect(bench.sink.attempts).toEqual([[1n], [2n]]);
  // The fractions of the monotonic clock make a period end up to two milliseconds later.
  await bench.clock.pass(102);
  expect(bench.sink.attempts).toEqual([[1n], [2n], [3n]]);
  await bench.clock.pass(896);
  expect(bench.sink.attempts).toHaveLength(3);
  await bench.clock.pass(4);
  expect(bench.sink.attempts).toHaveLength(4);
  await bench.clock.pass(SECOND);
  expect(bench.sink.attempts.flat()).toEqual([1n, 2n, 3n, 4n, 5n]);
});

it('a rate does not delay a new lead after a quiet time, and causes no additional claims', async () => {
  const bench = await Bench.open({ rate: { batches: 1, perMs: SECOND } });
  await bench.list(1);
  await bench.clock.pass(MINUTE);
  const before = bench.claims;
  await bench.list(2);
  expect(bench.sink.attempts).toEqual([[1n], [2n]]);
  await bench.clock.pass(5 * SECOND);
  expect(bench.claims - before).toBeLessThan(8);
});

it('a sink that a reload opens again keeps the batches that count towards its rate, even if the rate changes', async () => {
  const clock = new HeldClock();
  const throttles = new BatchThrottles(clock);
  throttles.of('crm', { batches: 3, perMs: MINUTE })?.add(2);
  expect(throttles.of('crm', { batches: 3, perMs: MINUTE })?.room()).toBe(1);
  expect(throttles.of('crm', { batches: 2, perMs: MINUTE })?.nextAtMs()).toBeDefined();
  expect(throttles.of('other', { batches: 2, perMs: MINUTE })?.room()).toBe(2);
  expect(throttles.of('crm', undefined)).toBeUndefined();
});

it('the probes of a held sink count towards the rate, and a pause is reported while the rate allows no batch', async () => {
  const bench = await Bench.open({ rate: { batches: 1, perMs: 10 * MINUTE } });
  bench.sink.answer = failing;
  await bench.list(1);
  await bench.clock.pass(10 * MINUTE - SECOND);
  expect(bench.sink.attempts).toHaveLength(1);
  await bench.ledger.pause('crm', 'The CRM is being moved');
  await bench.clock.pass(5 * SECOND);
  expect(bench.reported.of('sink-paused')).toHaveLength(1);
  await bench.ledger.resume('crm');
  await bench.clock.pass(MINUTE);
  expect(bench.sink.attempts).toHaveLength(2);
});
