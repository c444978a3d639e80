import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pollLoop } from '../../../src/daemon/joints/poll-loop.ts';
import { PollRequest } from '../../../src/daemon/joints/poll-request.ts';
import { ReportedRejections } from '../../../src/daemon/joints/reported-rejections.ts';
import { judgeBy } from '../../../src/delivery/judge.ts';
import { openLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { HeldClock, rest } from '../../support/time/held-clock.ts';
import { HOUR, MINUTE, SECOND } from './bench.ts';
import { listingOf, Reported, ScriptedSource } from './fakes.ts';

const random = () => 0.5;
const judge = judgeBy(() => ({ scheduleMs: [], jitter: 0 }), random);

/** A source that is polled by cron on a clock that is held, by one process after another. */
class CronPolling {
  readonly clock: HeldClock;
  readonly source: ScriptedSource;
  readonly reported = new Reported();
  readonly request = new PollRequest();
  readonly #file = join(tempDir(), 'ledger.db');
  readonly #cron: string;
  #stop = async () => {};

  constructor(cron: string, now: string) {
    this.#cron = cron;
    this.clock = new HeldClock(now);
    this.source = new ScriptedSource(() => this.clock.monotonicMs());
  }

  /** Starts after a complete poll at this time. */
  static async start(cron: string, now: string): Promise<CronPolling> {
    const polling = new CronPolling(cron, now);
    onTestFinished(() => polling.stop());
    await polling.hasPolled();
    await polling.start();
    return polling;
  }

  /** Records a complete poll of another process. */
  async hasPolled(): Promise<void> {
    const ledger = this.#open();
    const poll = await ledger.startPoll('main');
    await ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
    await ledger.close();
  }

  #open() {
    return openLedger({ file: this.#file, create: true, clock: this.clock, random, judge });
  }

  async start(): Promise<void> {
    const { clock, source, request } = this;
    const ledger = this.#open();
    const stop = new AbortController();
    const parts = {
      source,
      ledger,
      clock,
      emit: this.reported.emit,
      onOwed: () => undefined,
      rejections: new ReportedRejections(),
      random,
      request,
    };
    const schedule = { cron: this.#cron, timezone: 'UTC' };
    const loop = pollLoop({ ...parts, schedule }, stop.signal);
    this.#stop = async () => {
      stop.abort();
      await loop;
      await ledger.close();
    };
    await rest();
  }

  async stop(): Promise<void> {
    const stop = this.#stop;
    this.#stop = async () => {};
    await stop();
  }

  get polls(): number {
    return this.source.asked.length;
  }
}

describe('polling by cron', () => {
  it('waits for its time, and polls once for times that pass during a poll', async () => {
    const polling = await CronPolling.start('* * * * * *', '2026-11-20T10:00:00.400Z');
    let release: () => void = () => undefined;
    polling.source.answer = async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return listingOf([]);
    };
    await polling.clock.pass(500);
    expect(polling.polls).toBe(0);
    await polling.clock.pass(200);
    expect(polling.polls).toBe(1);
    await polling.clock.pass(2_200); // two more times pass while the poll is under way
    expect(polling.polls).toBe(1);
    polling.source.answer = () => listingOf([]);
    release();
    await rest();
    expect(polling.polls).toBe(2); // one poll makes up for both
    await polling.clock.pass(200);
    expect(polling.polls).toBe(2);
    await polling.clock.pass(1_000);
    expect(polling.polls).toBe(3);
    expect(polling.source.most).toBe(1);
  });

  it('polls at the start if no poll was ever complete', async () => {
    const polling = new CronPolling('0 8 * * *', '2026-11-20T10:00:00.000Z');
    onTestFinished(() => polling.stop());
    await polling.start();
    expect(polling.polls).toBe(1);
    await polling.clock.pass(HOUR);
    expect(polling.polls).toBe(1);
  });

  it('polls immediately when an operator requests it, and keeps its schedule', async () => {
    const polling = await CronPolling.start('0 * * * *', '2026-11-20T10:20:00.000Z');
    expect(polling.request.pollNow()).toBe(true);
    await rest();
    expect(polling.polls).toBe(1);
    await polling.clock.pass(39 * MINUTE);
    expect(polling.polls).toBe(1);
    await polling.clock.pass(MINUTE + SECOND);
    expect(polling.polls).toBe(2);
  });

  it('starts no second poll when an operator requests one during a poll', async () => {
    const polling = await CronPolling.start('0 * * * *', '2026-11-20T10:20:00.000Z');
    const listing = Promise.withResolvers<ReturnType<typeof listingOf>>();
    polling.source.answer = () => listing.promise;
    polling.request.pollNow();
    await rest();
    expect(polling.request.pollNow()).toBe(false);
    listing.resolve(listingOf([]));
    await rest();
    expect(polling.polls).toBe(1);
  });

  it('continues if the clock is set back, however far', async () => {
    const polling = await CronPolling.start('*/10 * * * * *', '2026-11-20T10:00:01.000Z');
    await polling.clock.pass(10 * SECOND);
    expect(polling.polls).toBe(1);
    polling.clock.setBack(10 * HOUR);
    await polling.clock.pass(MINUTE);
    expect(polling.polls).toBeGreaterThanOrEqual(6);
    expect(Math.max(...polling.source.waits)).toBeLessThan(10 * SECOND + 1);
  });

  it('never waits longer than its schedule says, however the clock is set', async () => {
    const step = fc.record({
      passMs: fc.integer({ min: 0, max: 25 * SECOND }),
      backMs: fc.oneof(
        fc.integer({ min: -2 * HOUR, max: 2 * HOUR }),
        fc.integer({ min: -3 * SECOND, max: 3 * SECOND }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const polling = new CronPolling('*/20 * * * * *', '2026-11-20T10:00:30.000Z');
        await polling.hasPolled();
        await polling.start();
        for (const { passMs, backMs } of steps) {
          await polling.clock.pass(passMs);
          polling.clock.setBack(backMs);
        }
        await polling.clock.pass(21 * SECOND);
        await polling.stop();
        const times = [0, ...polling.source.asked, polling.clock.monotonicMs()];
        const waits = times.slice(1).map((ms, index) => ms - (times[index] ?? 0));
        expect(Math.max(...waits)).toBeLessThanOrEqual(21 * SECOND);
      }),
      { numRuns: 12 },
    );
  });

  it.each([
    ['the process was suspended', (clock: HeldClock) => clock.jump(4 * SECOND)],
    ['the clock was set ahead', (clock: HeldClock) => clock.setBack(-4 * SECOND)],
  ])('makes up for a poll whose time passed while %s', async (_, stand) => {
    const polling = await CronPolling.start('0 8 * * *', '2026-11-20T07:59:57.000Z');
    stand(polling.clock);
    await polling.clock.pass(SECOND);
    expect(polling.polls).toBe(1);
    await polling.clock.pass(MINUTE);
    expect(polling.polls).toBe(1);
  });

  it.each([
    ['polls at the start if a scheduled time has passed since the last poll', 2 * HOUR, 1],
    ['waits for the next time if none has passed', 30 * MINUTE, 0],
    ['polls at the start if the last poll lies in the future', -3 * HOUR, 1],
  ])('%s', async (_, awayMs, polls) => {
    const polling = await CronPolling.start('0 * * * *', '2026-11-20T09:59:59.000Z');
    await polling.clock.pass(2 * SECOND);
    expect(polling.polls).toBe(1);
    await polling.stop();
    polling.clock.setBack(-awayMs);
    await polling.start();
    expect(polling.polls).toBe(1 + polls);
  });
});
