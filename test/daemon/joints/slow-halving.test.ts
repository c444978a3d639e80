import { expect, it } from 'vitest';
import { attemptParts } from '../../../src/sinks/attempt-parts.ts';
import { Bench, HOUR, MINUTE, SECOND } from './bench.ts';

const TIMEOUT_MS = 15 * SECOND;
/** What a webhook in batches has for an attempt. */
const BUDGET_MS = 4 * TIMEOUT_MS + 5 * SECOND;
const LEADS = 200;

it.each([
  [14.9, 1],
  [14.9, LEADS],
  [14.9, 77],
  [9, 1],
  [9, 120],
  [2, 1],
  [0.1, 33],
])(
  'a batch with one bad lead is divided to its end by a receiver that takes %d s for each request (lead %d)',
  async (seconds, bad) => {
    const bench = await Bench.open({ max: LEADS, budgetMs: BUDGET_MS, scheduleMs: [SECOND] });
    const taken: bigint[] = [];
    bench.sink.answer = (batch, _, under) =>
      attemptParts(
        [batch.deliveries],
        async (part) => {
          await bench.clock.sleep(seconds * SECOND);
          const ids = part.map(({ leadId }) => leadId);
          if (ids.includes(BigInt(bad))) return { kind: 'refused', reason: 'It says no.', httpStatus: 422 };
          taken.push(...ids);
          return { kind: 'delivered' };
        },
        { under, partMs: TIMEOUT_MS },
      );
    await bench.list(...Array.from({ length: LEADS }, (_, index) => index + 1));
    // New leads get through meanwhile: whatever fails now counts.
    for (let minute = 0; minute < 30; minute += 1) {
      await bench.list(LEADS + 1 + minute);
      await bench.clock.pass(MINUTE);
    }
    await bench.clock.pass(HOUR);
    const states = await bench.states();
    expect(
      states.map((state, index) => [index + 1, state]).filter(([, state]) => state !== 'delivered'),
    ).toEqual([[bad, 'dead']]);
    expect(new Set(taken).size).toBe(taken.length);
    expect(bench.reported.of('sink-held')).toEqual([]);
    const [row] = await bench.ledger.deliveries({ lead: BigInt(bad) }, { limit: 1 });
    expect(row?.reason).toContain('It says no.');
  },
);
