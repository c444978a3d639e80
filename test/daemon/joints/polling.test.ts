import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { PollSchedule } from '../../../src/config/contract/config.ts';
import { pollLoop } from '../../../src/daemon/joints/poll-loop.ts';
import { ReportedRejections } from '../../../src/daemon/joints/reported-rejections.ts';
import { judgeBy } from '../../../src/delivery/judge.ts';
import type { Ledger } from '../../../src/ledger/contract/ledger.ts';
import { LedgerError } from '../../../src/ledger/contract/ledger-error.ts';
import { openLedger } from '../../../src/ledger/sqlite-ledger.ts';
import {
  type ChangedListing,
  SourceError,
  type SourceErrorCode,
} from '../../../src/source/contract/source.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aLead, aListedLead, hashOf } from '../../support/scene/a-lead.ts';
import { HeldClock, rest } from '../../support/time/held-clock.ts';
import { HOUR, MINUTE, SECOND } from './bench.ts';
import { listingOf, Reported, ScriptedSource } from './fakes.ts';

/** A source that is polled on its schedule, on a clock that is held. */
class Polling {
  readonly clock = new HeldClock();
  readonly reported = new Reported();
  readonly source = new ScriptedSource(() => this.clock.passedMs);
  readonly ledger: Ledger;
  owed = 0;
  /** How often it was ready to leave the source to another process. */
  ready = 0;
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;

  constructor(schedule: PollSchedule, prepare: (polling: Polling) => void, random: () => number) {
    const file = join(tempDir(), 'ledger.db');
    const judge = judgeBy(() => ({ scheduleMs: [], jitter: 0 }), random);
    this.ledger = openLedger({ file, create: true, clock: this.clock, random, judge });
    prepare(this);
    const onOwed = () => {
      this.owed += 1;
    };
    const parts = {
      source: this.source,
      ledger: this.ledger,
      clock: this.clock,
      emit: this.reported.emit,
      onOwed,
      rejections: new ReportedRejections(),
      preferOthers: () => {
        this.ready += 1;
      },
    };
    this.#loop = pollLoop({ ...parts, schedule, random }, this.#stop.signal);
  }

  static async start(
    schedule: PollSchedule,
    prepare: (polling: Polling) => void = () => undefined,
    random = () => 0.5,
  ): Promise<Polling> {
    const polling = new Polling(schedule, prepare, random);
    onTestFinished(async () => {
      await polling.stop();
      await polling.ledger.close();
    });
    await rest();
    return polling;
  }

  /** Resolves when so many polls have succeeded, although a long listing takes more turns than the clock waits for. */
  async succeeded(polls: number): Promise<void> {
    while (this.reported.of('poll-finished').length < polls) await rest();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }
}

const every30s: PollSchedule = { everyMs: 30 * SECOND };

/** Begins to record three turns of the event loop later, as a ledger behind a lock does. */
function recordSlowly(ledger: Ledger): void {
  const record = ledger.record;
  vi.spyOn(ledger, 'record').mockImplementation(async (...asked) => {
    for (let turns = 0; turns < 3; turns += 1) await turn();
    return record(...asked);
  });
}

/** A listing whose service sends nothing more after these leads, until the reading is aborted. */
function stalling(leads: readonly number[], isRecognised: boolean, signal: AbortSignal): ChangedListing {
  const listing = listingOf(leads);
  async function* blocks() {
    for await (const block of listing.blocks) yield { ...block, isRecognised };
    await new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  }
  return { ...listing, blocks: blocks() };
}

function failsWith(code: SourceErrorCode, retryAfterMs?: number) {
  return (polling: Polling) => {
    polling.source.answer = () => {
      throw new SourceError(code, 'It does not work.', {
        hint: 'Look at it.',
        httpStatus: 503,
        retryAfterMs,
      });
    };
  };
}

describe('polling', () => {
  it('starts immediately and continues at its interval', async () => {
    const polling = await Polling.start(every30s);
    await polling.clock.pass(2 * MINUTE);
    expect(polling.source.asked).toEqual([0, 30, 60, 90, 120].map((second) => second * SECOND));
    expect(polling.reported.of('poll-finished')).toHaveLength(5);
  });

  it('leaves the source to another process after three polls in a row that did not reach the service', async () => {
    const polling = await Polling.start(every30s, failsWith('unreachable'));
    while (polling.source.asked.length < 2) await polling.clock.pass(SECOND);
    expect(polling.ready).toBe(0);
    while (polling.source.asked.length < 3) await polling.clock.pass(SECOND);
    expect(polling.ready).toBe(1);
  });

  it('keeps the source if it is the service that fails, wherever it is asked from', async () => {
    const polling = await Polling.start(every30s, failsWith('server'));
    while (polling.source.asked.length < 5) await polling.clock.pass(SECOND);
    expect(polling.ready).toBe(0);
  });

  it('never overlaps: a listing that takes longer than the interval delays the next poll', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = async (signal) => {
        await polling.clock.sleep(70 * SECOND, signal);
        return listingOf([]);
      };
    });
    await polling.clock.pass(5 * MINUTE);
    expect(polling.source.most).toBe(1);
    expect(polling.source.waits).toEqual([70, 70, 70, 70].map((second) => second * SECOND));
  });

  it('announces that leads may be owed before it records them, so that their claim can share the commit', async () => {
    const toldBefore: number[] = [];
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => listingOf([1]);
      const record = polling.ledger.record;
      vi.spyOn(polling.ledger, 'record').mockImplementation((...asked) =>
        record(...asked).finally(() => toldBefore.push(polling.owed)),
      );
    });
    await polling.clock.pass(SECOND);
    expect(toldBefore).toEqual([1]);
    expect(polling.owed).toBe(2);
  });

  it('records the listed leads, announces each chunk twice, and passes the marker to the next poll', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => listingOf([1, 2, 3, 4, 5]);
    });
    await polling.clock.pass(SECOND);
    expect(polling.owed).toBe(6);
    expect(polling.reported.of('poll-finished')).toMatchObject([
      { listed: 5, new: 5, status: 'success', bytes: 100 },
    ]);
    await polling.clock.pass(30 * SECOND);
    expect(polling.owed).toBe(6);
    expect(polling.source.marks).toEqual([undefined, expect.objectContaining({ etag: '"1"' })]);
  });

  it('compares no block while the one before is being recorded, so that the newer content of a repeated lead stays', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => listingOf([1, 2, 3, 4]);
    });
    recordSlowly(polling.ledger);
    const newer = aListedLead({ id: 1, client_name: 'Anna Schmidt' });
    polling.source.answer = () => listingOf([newer, 2, 1, 4]);
    await polling.clock.pass(31 * SECOND);
    expect(polling.reported.of('poll-finished').at(-1)).toMatchObject({ changed: 1, rejected: 1 });
  });

  it('reports an unchanged listing as such', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => listingOf([1, 2]);
    });
    polling.source.answer = () => ({ kind: 'unchanged', httpStatus: 304, bytes: 0 });
    await polling.clock.pass(31 * SECOND);
    expect(polling.reported.of('poll-finished').at(-1)).toMatchObject({
      status: 'unchanged',
      listed: 2,
      new: 0,
    });
  });

  it('keeps the leads that were listed before it broke off, and no marker', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      const broken = new SourceError('incomplete', 'The listing broke off.', { hint: '' });
      polling.source.answer = () => listingOf([1, 2, 3], broken);
    });
    await polling.clock.pass(SECOND / 2);
    expect(polling.reported.of('poll-failed')).toMatchObject([
      { status: 'partial', code: 'incomplete', recorded: { new: 3 } },
    ]);
    expect(await polling.ledger.listingMark('main')).toBeUndefined();
    polling.source.answer = () => listingOf([1, 2, 3, 4]);
    await polling.clock.pass(2 * SECOND);
    expect(polling.reported.of('poll-finished')).toMatchObject([{ new: 1, listed: 4 }]);
  });

  it('records the leads of recognised blocks that the ledger does not know while the service stalls', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = (signal) => stalling([1, 2, 3, 4], true, signal);
    });
    await polling.clock.pass(SECOND / 2);
    expect(polling.owed).toBeGreaterThan(0);
    expect((await polling.ledger.status()).sources[0]).toMatchObject({ leads: 4 });
    await polling.stop();
  });

  it('that another process has ended is no failure of the source, and the source is polled again soon', async () => {
    let left = 2;
    const polling = await Polling.start(every30s, (polling) => {
      const { startPoll } = polling.ledger;
      vi.spyOn(polling.ledger, 'startPoll').mockImplementation((source) => {
        left -= 1;
        if (left >= 0) return Promise.reject(new LedgerError('fenced', 'Another process polls.', ''));
        return startPoll.call(polling.ledger, source);
      });
      polling.source.answer = () => listingOf([1]);
    });
    await polling.clock.pass(3 * SECOND);
    expect(polling.reported.of('poll-failed')).toEqual([]);
    expect(polling.reported.of('poll-finished')).toMatchObject([{ new: 1 }]);
    left = 3;
    await polling.clock.pass(40 * SECOND);
    expect(polling.reported.of('poll-failed')).toMatchObject([{ code: 'ledger-fenced' }]);
  });

  it('ends as soon as a block cannot be recorded or read, also while the service stalls', async () => {
    for (const fails of ['record', 'read'] as const) {
      const polling = await Polling.start(every30s, (polling) => {
        const failure = new LedgerError('full', 'The disk is full.', 'Make room.');
        if (fails === 'record') vi.spyOn(polling.ledger, 'record').mockRejectedValue(failure);
        else vi.spyOn(polling.ledger, 'unknownElements').mockRejectedValue(failure);
        polling.source.answer = (signal) => stalling([1, 2], false, signal);
      });
      await polling.clock.pass(SECOND / 2);
      expect(polling.reported.of('poll-failed')).toMatchObject([{ code: 'ledger-full' }]);
      await polling.stop();
    }
  });

  it('records the leads before one that cannot be parsed, in a block that was read ahead', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => {
        const broken = new SourceError('protocol', 'The element is not valid JSON.', { hint: '' });
        const listing = listingOf([1, 2, 3, 4, 5, 6, 7, 8]);
        async function* blocks() {
          for await (const block of listing.blocks) {
            const elements = block.elements().map((element) =>
              element.id !== 8n
                ? element
                : {
                    ...element,
                    read: () => {
                      throw broken;
                    },
                  },
            );
            yield { ...block, elements: () => elements };
          }
        }
        return { ...listing, blocks: blocks() };
      };
    });
    await polling.clock.pass(SECOND / 2);
    expect(polling.reported.of('poll-failed')).toMatchObject([
      { status: 'partial', code: 'protocol', recorded: { listed: 8, new: 7 } },
    ]);
  });

  it('warns if a listing becomes empty, and reports rejected leads without their text', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      const raw = aLead({ id: 2, client_email: null });
      const rejected = {
        kind: 'rejected',
        position: 0,
        id: 2n,
        raw,
        hash: hashOf(raw),
        reason: 'A text is required.',
        path: 'client_email',
      } as const;
      polling.source.answer = () => listingOf([1, rejected]);
    });
    polling.source.answer = () => listingOf([]);
    await polling.clock.pass(31 * SECOND);
    expect(polling.reported.of('leads-rejected')).toMatchObject([
      { rejected: 1, reasons: ['client_email: A text is required.'] },
    ]);
    expect(polling.reported.of('listing-emptied')).toMatchObject([{ before: 1 }]);
    expect(JSON.stringify(polling.reported.events)).not.toContain('Anna');
  });
});

describe('what a poll reports about a listing', () => {
  const rejectedLead = (id: number, reason: string) => {
    const raw = aLead({ id });
    return {
      kind: 'rejected',
      position: 0,
      id: BigInt(id),
      raw,
      hash: hashOf(raw),
      reason,
      path: 'key',
    } as const;
  };

  it('is the first five reasons of rejections with the number of others, and whether the report is a repeat', async () => {
    const twelve = Array.from({ length: 12 }, (_, at) => rejectedLead(at + 1, `Fault ${at + 1}.`));
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => listingOf(twelve);
    });
    await polling.clock.pass(31 * SECOND);
    polling.source.answer = () => listingOf([99]);
    await polling.clock.pass(31 * SECOND);
    polling.source.answer = () => listingOf([99, ...twelve]);
    await polling.clock.pass(31 * SECOND);
    const reports = polling.reported.of('leads-rejected');
    expect(reports.map(({ rejected, others, repeated }) => [rejected, others, repeated])).toEqual([
      [12, 7, false],
      [12, 7, true],
      [12, 7, false],
    ]);
    expect(reports[0]?.reasons).toHaveLength(5);
  });

  it('is that it shrank, in the poll that finds it', async () => {
    const many = Array.from({ length: 60 }, (_, at) => at + 1);
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => listingOf(many);
    });
    await polling.succeeded(1);
    polling.source.answer = () => listingOf([1, 2, 3]);
    await polling.clock.pass(2 * 31 * SECOND);
    expect(polling.reported.of('listing-shrunk')).toMatchObject([{ source: 'main', listed: 3, before: 60 }]);
    expect(polling.reported.of('listing-emptied')).toEqual([]);
  });
});

describe('a poll that fails', () => {
  it('is tried again after 1, 2, 4 s and so on, up to 5 minutes, which it reports', async () => {
    const polling = await Polling.start(every30s, failsWith('unreachable'));
    await polling.clock.pass(HOUR);
    expect(polling.source.waits.slice(0, 11)).toEqual(
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((second) => second * SECOND),
    );
    const failed = polling.reported.of('poll-failed');
    expect(failed.slice(0, 2)).toMatchObject([
      { failures: 1, retryInMs: SECOND, hint: 'Look at it.' },
      { failures: 2, retryInMs: 2 * SECOND },
    ]);
    polling.source.answer = () => listingOf([1]);
    await polling.clock.pass(5 * MINUTE + 30 * SECOND);
    const finished = polling.reported.of('poll-finished').length;
    expect(finished).toBeGreaterThan(0);
    failsWith('unreachable')(polling);
    await polling.clock.pass(30 * SECOND);
    expect(
      polling.reported
        .of('poll-failed')
        .find((event, index) => index >= failed.length && event.failures === 1),
    ).toBeDefined();
  });

  it.each([
    [0, 0.8],
    [0.999999, 1.2],
  ])('spreads its waits, so that many clients do not retry at the same time: %d', async (random, factor) => {
    const polling = await Polling.start(every30s, failsWith('server'), () => random);
    await polling.clock.pass(10 * SECOND);
    expect(polling.source.waits.slice(0, 3)).toEqual([1, 2, 4].map((second) => second * SECOND * factor));
  });

  it.each([
    ['what the service asks for', 90 * SECOND, 90 * SECOND],
    ['an hour at most, whatever the service asks for', 48 * HOUR, HOUR],
    ['its own back-off when that is longer', SECOND / 10, SECOND],
    ['its own back-off when what is asked for lies in the past', -HOUR, SECOND],
  ])('waits for %s', async (_, askedMs, waitMs) => {
    const polling = await Polling.start(every30s, failsWith('rate-limited', askedMs));
    await polling.clock.pass(2 * HOUR);
    expect(polling.source.waits[0]).toBe(waitMs);
  });

  it('because of its credentials is tried again after a minute at the earliest', async () => {
    const polling = await Polling.start(every30s, failsWith('credentials'));
    await polling.clock.pass(HOUR);
    expect(polling.source.waits.slice(0, 4)).toEqual([MINUTE, 2 * MINUTE, 4 * MINUTE, 5 * MINUTE]);
  });

  it('because of a login that was refused once is tried again when the second try is due, or immediately after a login', async () => {
    const polling = await Polling.start(every30s, failsWith('login-refused', 3 * MINUTE));
    await polling.clock.pass(4 * MINUTE);
    polling.source.loggedInAt = polling.clock.now();
    await polling.clock.pass(2 * SECOND);
    const [first, second] = polling.source.waits;
    expect(first).toBe(3 * MINUTE);
    expect(second).toBeLessThanOrEqual(62 * SECOND);
  });

  it('because of its credentials is tried again immediately after a login, once for each login', async () => {
    const polling = await Polling.start(every30s, failsWith('credentials'));
    await polling.clock.pass(90 * SECOND);
    polling.source.loggedInAt = polling.clock.now();
    await polling.clock.pass(HOUR);
    const [first, second, third] = polling.source.waits;
    expect(first).toBe(MINUTE);
    expect(second).toBeLessThanOrEqual(31 * SECOND);
    expect(third).toBe(4 * MINUTE);
  });

  it.each(['credentials', 'login-needed', 'login-refused'] as const)(
    '(%s) is not tried more often after a login at a time that now lies ahead',
    async (code) => {
      const polling = await Polling.start(every30s, (polling) => {
        polling.source.loggedInAt = polling.clock.in(24 * HOUR);
        failsWith(code, MINUTE)(polling);
      });
      await polling.clock.pass(HOUR);
      expect(polling.source.waits.slice(0, 2)).toEqual([MINUTE, expect.any(Number)]);
      expect(Math.min(...polling.source.waits)).toBeGreaterThanOrEqual(MINUTE);
      polling.clock.setBack(48 * HOUR);
      const asked = polling.source.asked.length;
      polling.source.loggedInAt = polling.clock.now();
      await polling.clock.pass(2 * SECOND);
      expect(polling.source.asked.length).toBe(asked + 1);
    },
  );

  it('because of a ledger without space is tried again within seconds, without a request to the service', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      vi.spyOn(polling.ledger, 'startPoll').mockRejectedValue(
        new LedgerError('full', 'No room.', 'Free some.'),
      );
    });
    await polling.clock.pass(MINUTE);
    const waits = polling.reported.of('poll-failed').map(({ retryInMs }) => retryInMs);
    expect(waits.slice(0, 6)).toEqual([1, 2, 4, 8, 10, 10].map((second) => second * SECOND));
    expect(polling.source.asked).toEqual([]);
    vi.mocked(polling.ledger.startPoll).mockRestore();
    await polling.clock.pass(10 * SECOND);
    expect(polling.reported.of('poll-finished')).not.toEqual([]);
  });

  it('with an unexpected error is reported without its text, and is tried again like others', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => {
        throw new TypeError('Anna Müller');
      };
    });
    await polling.clock.pass(HOUR);
    expect(polling.source.asked.length).toBeLessThan(25);
    expect(polling.reported.of('poll-failed')[0]).toMatchObject({
      code: 'unexpected',
      hint: expect.stringMatching(/report/),
    });
    expect(JSON.stringify(polling.reported.events)).not.toContain('Anna');
    expect((await polling.ledger.status()).sources[0]?.lastPoll?.status).toBe('failed');
  });

  it('because leadsync stops is not a failure', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = async (signal) => {
        await polling.clock.sleep(HOUR, signal);
        throw new SourceError('unreachable', 'aborted', { hint: '' });
      };
    });
    await polling.stop();
    expect(polling.reported.of('poll-failed')).toEqual([]);
  });
});

describe('a source without a single recorded lead', () => {
  it.each([
    ['could not be reached', failsWith('unreachable')],
    ['listed nothing', () => undefined],
  ])('is not bound to its address: if it %s, an operator can correct the address', async (_, wrong) => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.origin = 'laeds.example.com/api/v1/leads';
      wrong(polling);
    });
    polling.source.origin = 'leads.example.com/api/v1/leads';
    polling.source.answer = () => listingOf([1]);
    await polling.clock.pass(31 * SECOND);
    expect(polling.reported.of('poll-failed').map(({ code }) => code)).not.toContain('other-origin');
    const [main] = (await polling.ledger.status()).sources;
    expect(main).toMatchObject({ leads: 1, lastPoll: { status: 'success' } });
    polling.source.origin = 'staging.example.com/api/v1/leads';
    await polling.clock.pass(31 * SECOND);
    expect(polling.reported.of('poll-failed').at(-1)).toMatchObject({ code: 'other-origin' });
  });

  it('treats the first listing at the corrected address as its initial leads, even if the wrong one listed nothing', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.origin = 'laeds.example.com/api/v1/leads';
    });
    await polling.ledger.declareSinks([{ name: 'crm', events: ['created'], backfill: false }]);
    polling.source.origin = 'leads.example.com/api/v1/leads';
    polling.source.answer = () => listingOf([1, 2]);
    await polling.clock.pass(31 * SECOND);
    const states = (await polling.ledger.deliveries({}, { limit: 9 })).map(({ state }) => state);
    expect(states).toEqual(['skipped', 'skipped']);
  });

  it('is bound to its address by one lead, even if its listing broke off', async () => {
    const broken = new SourceError('incomplete', 'The listing broke off.', { hint: '' });
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => listingOf([1], broken);
    });
    polling.source.origin = 'staging.example.com/api/v1/leads';
    await polling.clock.pass(2 * SECOND);
    expect(polling.reported.of('poll-failed').at(-1)).toMatchObject({ code: 'other-origin' });
  });
});

describe('a source whose address is not the one that its leads come from', () => {
  it('is not polled, which is reported, until an operator confirms that the service has moved', async () => {
    const polling = await Polling.start(every30s, (polling) => {
      polling.source.answer = () => listingOf([1]);
    });
    expect(polling.source.asked).toHaveLength(1);
    polling.source.origin = 'staging.example.com/api/v1/leads';
    await polling.clock.pass(30 * SECOND);
    expect(polling.source.asked).toHaveLength(1);
    expect(polling.reported.of('poll-failed')).toMatchObject([
      {
        code: 'other-origin',
        reason: expect.stringMatching(/leads\.example\.com.*staging\.example\.com/),
        hint: expect.stringContaining('leadsync moved main'),
      },
    ]);
    const [main] = (await polling.ledger.status()).sources;
    expect(main?.lastPoll).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('other-origin'),
    });
    expect(await polling.ledger.forgetOrigin('main')).toBe(true);
    await polling.clock.pass(2 * MINUTE);
    expect(polling.source.asked.length).toBeGreaterThan(1);
    expect(await polling.ledger.recordOrigin('main', 'elsewhere')).toBe('staging.example.com/api/v1/leads');
    expect(await polling.ledger.forgetOrigin('unknown')).toBe(false);
  });
});
