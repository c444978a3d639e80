import { describe, expect, it, onTestFinished } from 'vitest';
import { watchWorkers } from '../../../src/daemon/joints/watch-workers.ts';
import { BullmqCarrier } from '../../../src/delivery/bullmq-carrier.ts';
import { CarrierUnavailable, type Pulse } from '../../../src/delivery/carrier.ts';
import type { BatchRef } from '../../../src/leads/delivery.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { startFreezingProxy } from '../../support/servers/freezing-proxy.ts';
import { requireRedisUrl, uniqueName } from '../../support/servers/services.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { HOUR, MINUTE, SECOND } from './bench.ts';
import { Reported } from './fakes.ts';

const ref = (batch: number, lease = 1): BatchRef => ({ sink: 'crm', batch: `b${batch}`, lease });

/** A watchdog on a held clock, with a carrier whose every sign the test sets. */
class Watched {
  readonly clock = new HeldClock();
  readonly reported = new Reported();
  /** In the ledger: under a lease, and not begun. */
  waiting: BatchRef[] = [];
  pulse: Pulse = { begun: 0, room: true };
  unready: string | undefined;
  offers = 0;
  /** What an offer comes to. */
  answer: () => void = () => undefined;
  replaced: number[] = [];

  constructor() {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    void watchWorkers(
      'crm',
      {
        ledger: { unbegunBatches: async () => this.waiting },
        carrier: {
          offer: async () => {
            this.offers += 1;
            this.answer();
          },
          unready: () => this.unready,
          workers: {
            pulse: () => this.pulse,
            replace: () => void this.replaced.push(this.clock.passedMs),
          },
        },
        clock: this.clock,
        emit: this.reported.emit,
      },
      stop.signal,
    );
  }
}

describe('a worker', () => {
  it('that begins no batch while some wait for it is replaced within seconds, which is reported', async () => {
    const watched = new Watched();
    watched.waiting = [ref(1), ref(2)];
    await watched.clock.pass(12 * SECOND);
    expect(watched.replaced).toEqual([]);
    await watched.clock.pass(3 * SECOND);
    expect(watched.replaced).toEqual([15 * SECOND]);
    expect(watched.reported.events).toEqual([
      { type: 'carrier-replaced', sink: 'crm', waiting: 2, silentMs: 12 * SECOND },
    ]);
  });

  it('that stays as silent as the one before gets more time each time, so that leadsync does not replace workers in a loop', async () => {
    const watched = new Watched();
    watched.waiting = [ref(1)];
    await watched.clock.pass(5 * HOUR);
    expect(watched.replaced.length).toBeGreaterThan(10);
    expect(watched.replaced.length).toBeLessThan(40);
  });

  it('that works again gets the same time as at the start', async () => {
    const watched = new Watched();
    watched.waiting = [ref(1)];
    await watched.clock.pass(10 * MINUTE);
    watched.pulse = { begun: 1, room: true };
    await watched.clock.pass(3 * SECOND);
    const before = watched.replaced.length;
    await watched.clock.pass(12 * SECOND);
    expect(watched.replaced).toHaveLength(before + 1);
  });

  it.each<[string, (watched: Watched) => void]>([
    [
      'whose attempts are all in progress is only slow',
      (watched) => {
        watched.pulse = { begun: 3, room: false };
      },
    ],
    [
      'that has nothing to do is idle',
      (watched) => {
        watched.waiting = [];
      },
    ],
    [
      'cannot begin batches that its carrier does not pass on',
      (watched) => {
        watched.unready = 'Redis is out of memory.';
      },
    ],
    [
      'is not at fault if the carrier accepts no offers',
      (watched) => {
        watched.answer = () => {
          throw new CarrierUnavailable('Redis did not take the jobs.', '');
        };
      },
    ],
  ])('%s, and is not replaced', async (_, set) => {
    const watched = new Watched();
    watched.waiting = [ref(1)];
    set(watched);
    await watched.clock.pass(HOUR);
    expect(watched.replaced).toEqual([]);
    expect(watched.reported.events).toEqual([]);
  });

  it('that begins one from time to time is not replaced, however many batches wait', async () => {
    const watched = new Watched();
    for (let begun = 0; begun < 100; begun += 1) {
      watched.waiting = Array.from({ length: 50 }, (_, index) => ref(begun + index));
      watched.pulse = { begun, room: true };
      await watched.clock.pass(11 * SECOND);
    }
    expect(watched.replaced).toEqual([]);
  });

  it('for which each batch waits only for a moment, because others take it, is not replaced', async () => {
    const watched = new Watched();
    for (let batch = 0; batch < 1_000; batch += 1) {
      watched.waiting = [ref(batch)];
      await watched.clock.pass(3 * SECOND);
    }
    expect(watched.replaced).toEqual([]);
  });

  it('gets the batches that its carrier may have lost again before it counts as silent', async () => {
    const watched = new Watched();
    watched.waiting = [ref(1)];
    await watched.clock.pass(6 * SECOND);
    expect(watched.offers).toBe(1);
  });
});

it('a BullMQ worker whose connections have died silently is replaced, its connections are closed, and the leads are sent', async () => {
  const redis = new URL(requireRedisUrl());
  const proxy = await startFreezingProxy(Number(redis.port || 6379));
  onTestFinished(() => proxy.close());
  redis.host = `127.0.0.1:${proxy.port}`;
  const waiting = new Map<string, BatchRef>();
  const begun: string[] = [];
  const carrier = new BullmqCarrier({
    redis: { kind: 'server', url: new Secret(redis.href), tls: undefined },
    prefix: `{${uniqueName('watched')}}`,
    attempt: async (one) => {
      begun.push(one.batch);
      waiting.delete(one.batch);
    },
    clock: systemClock,
    onState: () => undefined,
  });
  onTestFinished(() => carrier.close(0));
  await carrier.serve([{ name: 'crm', concurrency: 2 }]);
  const offer = (one: BatchRef) => {
    waiting.set(one.batch, one);
    return carrier.offer([one]);
  };
  await until('the carrier is connected', () => carrier.unready() === undefined);
  await offer(ref(1));
  await until('the worker works', () => begun.length === 1);
  // The first is the producer's, the others the worker's.
  const [, ...workers] = proxy.open;
  expect(workers).toHaveLength(2);
  for (const connection of workers) connection.freeze();
  const reported = new Reported();
  const clock = new HeldClock();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const ledger = { unbegunBatches: async () => [...waiting.values()] };
  void watchWorkers('crm', { ledger, carrier, clock, emit: reported.emit }, stop.signal);
  await offer(ref(2));
  await offer(ref(3));
  await until('the worker is replaced', async () => {
    await clock.pass(3 * SECOND);
    return reported.of('carrier-replaced').length > 0;
  });
  await until('both were attempted', () => begun.includes('b2') && begun.includes('b3'));
  expect(begun.toSorted()).toEqual(['b1', 'b2', 'b3']);
  await until('what was frozen is closed', () => !workers.some((one) => proxy.open.includes(one)));
  expect(carrier.unready()).toBeUndefined();
});
