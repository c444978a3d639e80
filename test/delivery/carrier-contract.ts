import { describe, expect, it, onTestFinished } from 'vitest';
import type { AttemptBatch, Carrier } from '../../src/delivery/carrier.ts';
import type { BatchRef } from '../../src/leads/delivery.ts';
import { until } from '../support/time/until.ts';

export const SINKS = [
  { name: 'crm', concurrency: 3 },
  { name: 'drop', concurrency: 1 },
] as const;

export type OpenCarrier = (attempt: AttemptBatch) => Promise<Carrier>;

export function ref(batch: number, lease = 1, sink = 'crm'): BatchRef {
  return { sink, batch: `b${batch}`, lease };
}

/** Records attempts, which end when the test releases them. */
export class Attempts {
  readonly started: BatchRef[] = [];
  readonly ended: BatchRef[] = [];
  readonly aborted: BatchRef[] = [];
  underWay = 0;
  most = 0;
  /** Whether attempts wait until they are released. */
  hanging = false;
  #release: (() => void)[] = [];

  readonly attempt: AttemptBatch = async (ref, signal) => {
    this.started.push(ref);
    this.underWay += 1;
    this.most = Math.max(this.most, this.underWay);
    if (this.hanging) await this.#wait(ref, signal);
    this.underWay -= 1;
    this.ended.push(ref);
  };

  release(): void {
    this.hanging = false;
    for (const release of this.#release.splice(0)) release();
  }

  #wait(ref: BatchRef, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#release.push(resolve);
      signal.addEventListener('abort', () => {
        if (!this.ended.includes(ref)) this.aborted.push(ref);
        resolve();
      });
    });
  }

  get batches(): string[] {
    return this.started.map((ref) => ref.batch).sort();
  }
}

/** Registers the tests of what every carrier promises, whatever batches travel through. */
export function carrierContract(name: string, openCarrier: () => OpenCarrier): void {
  const open = async (attempts: Attempts): Promise<Carrier> => {
    const carrier = await openCarrier()(attempts.attempt);
    onTestFinished(() => carrier.close(0));
    return carrier;
  };

  describe(name, () => {
    it('the carrier attempts each offered batch once', async () => {
      const attempts = new Attempts();
      const carrier = await open(attempts);
      const refs = Array.from({ length: 100 }, (_, index) =>
        ref(index, index + 1, index % 4 ? 'crm' : 'drop'),
      );
      await carrier.offer(refs);
      await until('all were attempted', () => attempts.ended.length >= 100);
      expect(new Set(attempts.batches).size).toBe(100);
      expect(attempts.started).toEqual(expect.arrayContaining(refs));
      await carrier.close(1_000);
      expect(attempts.started).toHaveLength(100);
    });

    it('a batch that is offered again while queued or being attempted is attempted once', async () => {
      const attempts = new Attempts();
      attempts.hanging = true;
      const carrier = await open(attempts);
      await carrier.offer([ref(1), ref(2)]);
      await until('both began', () => attempts.started.length === 2);
      await carrier.offer([ref(1), ref(2), ref(1)]);
      attempts.release();
      await until('both ended', () => attempts.ended.length >= 2);
      await carrier.close(1_000);
      expect(attempts.batches).toEqual(['b1', 'b2']);
    });

    it('the carrier attempts a batch again under a new lease', async () => {
      const attempts = new Attempts();
      const carrier = await open(attempts);
      await carrier.offer([ref(1, 1)]);
      await until('it was attempted', () => attempts.ended.length === 1);
      await carrier.offer([{ ...ref(1, 2), replaces: 1 }]);
      await until('it was attempted again', () => attempts.ended.length === 2);
      expect(attempts.started.map((one) => one.lease)).toEqual([1, 2]);
    });

    it('no sink waits for another', async () => {
      const attempts = new Attempts();
      attempts.hanging = true;
      const carrier = await open(attempts);
      await carrier.offer([ref(1, 1, 'drop'), ref(2, 1, 'crm')]);
      await until('both sinks are at work', () => attempts.started.length === 2);
      attempts.release();
    });

    it('the carrier accepts an empty offer and is ready', async () => {
      const carrier = await open(new Attempts());
      await carrier.offer([]);
      expect(carrier.unready()).toBeUndefined();
    });

    it('closing lets a running attempt finish', async () => {
      const attempts = new Attempts();
      attempts.hanging = true;
      const carrier = await open(attempts);
      await carrier.offer([ref(1)]);
      await until('it began', () => attempts.started.length === 1);
      const closing = carrier.close(10_000);
      attempts.release();
      await closing;
      expect(attempts.ended).toHaveLength(1);
      expect(attempts.aborted).toHaveLength(0);
    });

    it('closing aborts hanging attempts after the grace period and starts no more', async () => {
      const attempts = new Attempts();
      attempts.hanging = true;
      const carrier = await open(attempts);
      await carrier.offer(Array.from({ length: 10 }, (_, index) => ref(index)));
      await until('some began', () => attempts.started.length >= 3);
      const startedMs = performance.now();
      const begun = attempts.started.length;
      await carrier.close(100);
      expect(performance.now() - startedMs).toBeLessThan(3_500);
      expect(attempts.aborted).toHaveLength(begun);
      expect(attempts.started).toHaveLength(begun);
    });

    it('closing is quick even if an attempt ignores its abort', async () => {
      const started: BatchRef[] = [];
      const carrier = await openCarrier()(async (one) => {
        started.push(one);
        await new Promise(() => undefined);
      });
      await carrier.offer([ref(1)]);
      await until('it began', () => started.length === 1);
      const startedMs = performance.now();
      await carrier.close(50);
      expect(performance.now() - startedMs).toBeLessThan(4_000);
    });

    it('the carrier can be closed twice', async () => {
      const carrier = await open(new Attempts());
      await carrier.close(0);
      await carrier.close(0);
    });
  });
}
