import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it } from 'vitest';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  LedgerUnderTest,
  MINUTE,
  unavailable,
} from '../ledger/ledger-under-test.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

/** Two calls that meet, and what must hold after both, whichever came first. */
interface Meeting {
  readonly on: LedgerUnderTest;
  readonly first: () => Promise<unknown>;
  readonly second: () => Promise<unknown>;
  readonly check: () => Promise<void>;
}

const call = new AsyncLocalStorage<'first'>();

/** Runs two calls once for each statement of the first: stops the first before it, until the second has ended or waits for a lock. */
async function interleave(meet: (on: LedgerUnderTest) => Promise<Omit<Meeting, 'on'>>): Promise<number> {
  for (let stop = 1; ; stop += 1) {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let passed = 0;
    const beforeStatement = () => {
      if (call.getStore() !== 'first') return undefined;
      passed += 1;
      if (passed !== stop) return undefined;
      reached.resolve();
      return released.promise;
    };
    const retried: string[] = [];
    const store = new PostgresStore({ beforeStatement, onRetry: (code) => retried.push(code) });
    const meeting = await meet(new LedgerUnderTest(store.open));
    const one = call.run('first', meeting.first);
    const isStopped = await Promise.race([reached.promise.then(() => true), one.then(() => false)]);
    let ended = false;
    const other = meeting.second().finally(() => {
      ended = true;
    });
    if (isStopped)
      await until('the second has ended or waits', async () => ended || (await store.isWaiting()));
    released.resolve();
    await Promise.all([one, other]);
    expect(retried).not.toContain('40P01');
    await meeting.check();
    expect(await store.contradictions()).toEqual([]);
    await store.close();
    if (!isStopped) return stop - 1;
  }
}

/** Delivers everything to a sink, and returns the last version of each lead that it got. */
async function deliverAll(on: LedgerUnderTest, sink: string): Promise<Record<string, number>> {
  const versions: Record<string, number> = {};
  on.clock.jump(10 * MINUTE);
  for (let { refs } = await on.claim(sink); refs.length > 0; { refs } = await on.claim(sink))
    for (const ref of refs) {
      const { batch } = await on.begin(ref);
      for (const { leadId, version } of batch.deliveries) versions[String(leadId)] = version;
      await on.settle(ref, ...batch.deliveries.map(() => delivered));
    }
  return versions;
}

const both = aSink('crm', { events: ['created', 'updated'] });

it('a lead that is recorded while a sink is declared is owed to it once', async () => {
  const statements = await interleave(async (on) => {
    await on.declare('crm');
    const other = on.again();
    return {
      first: () => on.list([1]),
      second: () => other.declare('crm', 'drop'),
      check: async () => {
        await on.ledger.backfill('drop');
        expect(await on.owed('drop')).toEqual(['1 v1 pending']);
      },
    };
  });
  expect(statements).toBeGreaterThan(5);
});

it('a change that is recorded while its lead is claimed arrives, and nothing older after it', async () => {
  const statements = await interleave(async (on) => {
    await on.declare(both);
    await on.list([1]);
    const other = on.again();
    return {
      first: () => on.list([changedLead(1, 'B')]),
      second: () => other.claim('crm', { beginForMs: MINUTE }),
      check: async () => expect(await deliverAll(other, 'crm')).toEqual({ 1: 2 }),
    };
  });
  expect(statements).toBeGreaterThan(5);
});

it('a change that is recorded while an attempt of its lead fails arrives, and nothing older after it', async () => {
  const statements = await interleave(async (on) => {
    await on.declare(both);
    await on.list([1]);
    const { ref } = await on.take('crm');
    const other = on.again();
    return {
      first: () => on.settle(ref, unavailable),
      second: () => other.list([changedLead(1, 'B')]),
      check: async () => expect(await deliverAll(other, 'crm')).toEqual({ 1: 2 }),
    };
  });
  expect(statements).toBeGreaterThan(5);
});

it('a lead that is retried while it is claimed is attempted once, and its outcome counts', async () => {
  const statements = await interleave(async (on) => {
    await on.declare('crm');
    await on.list([1]);
    const other = on.again();
    return {
      first: () => on.ledger.retry({ sink: 'crm', states: ['pending'] }),
      second: () => other.attemptAll('crm'),
      check: async () => {
        await deliverAll(other, 'crm');
        expect(await on.owed('crm')).toEqual(['1 v1 delivered']);
      },
    };
  });
  expect(statements).toBeGreaterThan(2);
});

it('a clock that was set back is followed while leads are listed, claimed and settled', async () => {
  const statements = await interleave(async (on) => {
    await on.declare(both);
    await on.list([1, 2]);
    const { ref } = await on.take('crm', { max: 1, window: 1 });
    const other = on.again();
    await other.claim('crm', { most: 0 });
    on.clock.setBack(HOUR);
    return {
      first: () => on.ledger.clockWentBack(HOUR),
      second: async () => {
        await other.settle(ref, unavailable);
        await other.list([3, changedLead(2, 'B')]);
      },
      check: async () => expect(await deliverAll(other, 'crm')).toEqual({ 1: 1, 2: 2, 3: 1 }),
    };
  });
  expect(statements).toBeGreaterThan(5);
});
