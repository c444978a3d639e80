import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchClock } from '../../../src/daemon/watching/watch-clock.ts';
import type { Batch } from '../../../src/leads/delivery.ts';
import { attemptParts } from '../../../src/sinks/attempt-parts.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { changedLead } from '../../ledger/ledger-under-test.ts';
import { rest } from '../../support/time/held-clock.ts';
import { Bench, HOUR, MINUTE, SECOND } from './bench.ts';
import { delivering } from './fakes.ts';

const BUDGET_MS = 20 * SECOND;

/** Between the commit that begins an attempt and the call of the sink. */
function whenBegun(bench: Bench, happen: () => unknown): void {
  const { begin } = bench.ledger;
  vi.spyOn(bench.ledger, 'begin').mockImplementationOnce(async (...asked) => {
    const begun = await begin(...asked);
    await happen();
    return begun;
  });
}

/** After the commit that gives a batch back. */
function whenReleased(bench: Bench, happen: () => void): void {
  const { release } = bench.ledger;
  vi.spyOn(bench.ledger, 'release').mockImplementationOnce(async (...asked) => {
    const released = await release(...asked);
    happen();
    return released;
  });
}

function watched(bench: Bench): void {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void watchClock(bench.ledger, bench.clock, bench.reported.emit, stop.signal);
}

describe('an attempt whose lease ends before it sends anything', () => {
  it.each([
    ['because its process was suspended', (bench: Bench) => bench.clock.jump(2 * MINUTE)],
    ['because the machine was suspended, which its monotonic clock does not count', setAhead],
  ])('%s sends nothing, and the lead is attempted again immediately', async (_, happen) => {
    const bench = await Bench.open({ budgetMs: BUDGET_MS });
    whenBegun(bench, () => happen(bench));
    await bench.list(1);
    await bench.clock.pass(SECOND);
    expect(bench.ledger.begin).toHaveBeenCalledTimes(2);
    expect(bench.sink.attempts).toEqual([[1n]]);
    expect(await bench.states()).toEqual(['delivered']);
    expect((await bench.health())?.recent).toBe('+');
  });

  it.each([
    ['its process was suspended', (bench: Bench) => bench.clock.jump(2 * MINUTE)],
    ['the clock was set ahead', setAhead],
  ])('because %s counts as not sent: a newer content replaces the lead’s', async (_, happen) => {
    const bench = await Bench.open({ budgetMs: BUDGET_MS });
    whenBegun(bench, async () => {
      happen(bench);
      await recordChanged(bench, 1);
    });
    await bench.list(1);
    await bench.clock.pass(SECOND);
    expect(namesSent(bench)).toEqual([['New']]);
  });

  it('because other processes may have taken its process for dead sends nothing, and is made again under another lease', async () => {
    let isAlive = true;
    const bench = await Bench.open({ life: { isAlive: () => true, isAliveSince: () => isAlive } });
    whenBegun(bench, () => {
      isAlive = false;
    });
    whenReleased(bench, () => {
      isAlive = true;
    });
    await bench.list(1);
    await bench.clock.pass(SECOND);
    expect(bench.ledger.begin).toHaveBeenCalledTimes(2);
    expect(bench.sink.attempts).toEqual([[1n]]);
    expect((await bench.health())?.recent).toBe('+');
  });

  it('sends no further part, and keeps the outcomes of those that were sent', async () => {
    const bench = await Bench.open({ budgetMs: BUDGET_MS, max: 4 });
    const sent: bigint[] = [];
    bench.sink.answer = (batch, _, under) =>
      attemptParts(
        batch.deliveries.map((one) => [one]),
        async ([one]) => {
          if (one) sent.push(one.leadId);
          if (sent.length === 2) bench.clock.jump(2 * MINUTE);
          return { kind: 'delivered' };
        },
        { under, partMs: 0 },
      );
    await bench.list(1, 2, 3, 4);
    await bench.clock.pass(SECOND);
    expect(sent).toEqual([1n, 2n, 3n, 4n]);
    expect(bench.sink.attempts).toHaveLength(2);
    expect(await bench.states()).toEqual(['delivered', 'delivered', 'delivered', 'delivered']);
  });
});

describe('a clock that is set while requests are in progress', () => {
  it.each([
    ['a minute forward', MINUTE],
    ['a day ahead', 24 * HOUR],
    ['an odd time forward', 7_321],
    ['an hour back', -HOUR],
    ['an odd time back', -7_321],
  ])('by %s makes leadsync repeat none of them', async (_, byMs) => {
    const bench = await Bench.open({ budgetMs: BUDGET_MS, concurrency: 3 });
    watched(bench);
    bench.sink.answer = async (batch: Batch) => {
      await bench.clock.sleep(12 * SECOND);
      return delivering(batch);
    };
    await bench.list(1, 2, 3);
    await bench.clock.pass(3 * SECOND + 1);
    bench.clock.setBack(-byMs);
    // The dispatch loop looks for due deliveries before leadsync has detected the step.
    bench.wake.notify();
    await rest();
    await bench.list(4);
    await bench.clock.pass(MINUTE);
    expect(bench.sink.attempts.flat().toSorted()).toEqual([1n, 2n, 3n, 4n]);
    expect(await bench.states()).toEqual(['delivered', 'delivered', 'delivered', 'delivered']);
  });
});

describe('a part of a batch that was never sent because an earlier part failed', () => {
  it('counts as not sent: a newer content replaces its own, and not that of the part that failed', async () => {
    const bench = await Bench.open({ budgetMs: BUDGET_MS, max: 4 });
    bench.sink.answer = (batch, _, under) =>
      attemptParts(
        batch.deliveries.map((one) => [one]),
        async ([one]) => {
          if (bench.sink.attempts.length > 1 || one?.leadId !== 2n) return { kind: 'delivered' };
          for (const id of [2, 3, 4]) await recordChanged(bench, id);
          throw new SinkUnavailable('It did not answer in time.', { hint: '' });
        },
        { under, partMs: 0 },
      );
    await bench.list(1, 2, 3, 4);
    await bench.clock.pass(MINUTE);
    const [first, ...later] = namesSent(bench);
    expect(first).toEqual(['Anna Müller', 'Anna Müller', 'Anna Müller', 'Anna Müller']);
    expect(later.flat().toSorted()).toEqual(['Anna Müller', 'New', 'New']);
  });
});

async function recordChanged({ ledger }: Bench, id: number): Promise<void> {
  const poll = await ledger.startPoll('main');
  await ledger.record(poll, [changedLead(id, 'New')]);
}

/** What the leads of each attempt are called. */
function namesSent({ sink }: Bench): string[][] {
  return sink.batches.map(({ deliveries }) => deliveries.map(({ raw }) => JSON.parse(raw).client_name));
}

function setAhead(bench: Bench): void {
  bench.clock.setBack(-2 * MINUTE);
}
