import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openThreadedLedger } from '../../../src/daemon/start/start-ledger-thread.ts';
import { DEFAULT_BREAKER } from '../../../src/leads/breaker-policy.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';

/** A sink as a configuration has it, as far as its policies go. */
function aSink(waitMs: number, breaker = DEFAULT_BREAKER) {
  return { name: 'crm', retry: { scheduleMs: [waitMs, waitMs], jitter: 0 }, breaker };
}

test('a reload changes the retry schedule and the breaker that the ledger uses', async () => {
  let sinks = [aSink(60_000)];
  const ledger = await openThreadedLedger(join(tempDir(), 'ledger.db'), {
    create: true,
    holder: 'test',
    sinks: () => sinks,
  });
  onTestFinished(() => ledger.close());
  await ledger.declareSinks([{ name: 'crm', events: ['created'], backfill: true }]);
  const poll = await ledger.startPoll('main');
  await ledger.record(
    poll,
    [1, 2, 3, 4].map((id, position) => aListedLead({ id }, position)),
  );

  const waits = async (...kinds: readonly ('delivered' | 'unavailable')[]) => {
    const { refs } = await ledger.claim({
      sink: 'crm',
      window: 1,
      max: kinds.length,
      waitMs: 0,
      leaseMs: 60_000,
    });
    const [ref] = refs;
    if (!ref) throw new Error('there is nothing to attempt');
    await ledger.begin(ref, 60_000);
    const outcomes = kinds.map((kind) => ({ kind, reason: 'It is down.' }));
    const settledAt = Date.now();
    const settled = await ledger.settle(ref, { outcomes, startedAt: new Date(), durationMs: 1 });
    isHeld = settled?.after.heldSince !== undefined;
    return settled?.verdicts.map(({ nextAttemptAt }) => nextAttemptAt && nextAttemptAt.getTime() - settledAt);
  };
  let isHeld = false;
  // Beside a lead that got through, a failure moves the other along its schedule.
  expect((await waits('delivered', 'unavailable'))?.[1]).toBeGreaterThan(30_000);
  sinks = [aSink(10 * 60_000)];
  expect((await waits('unavailable'))?.[0]).toBeGreaterThan(5 * 60_000);
  expect(isHeld).toBe(false);
  sinks = [aSink(60_000, { ...DEFAULT_BREAKER, failureRate: 0.1 })];
  await waits('unavailable');
  expect(isHeld).toBe(true);
});
