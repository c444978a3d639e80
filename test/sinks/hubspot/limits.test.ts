import { expect, test } from 'vitest';
import type { Clock } from '../../../src/platform/time/clock.ts';
import { limitsOfPlans } from '../../stub/hubspot/limits.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { anAccount, outcomesOf } from './open-hubspot.ts';

const LEADS = 2_000;

/** A clock on which only waits take time. */
class WaitingClock implements Clock {
  passedMs = 0;
  readonly #startMs = Date.parse('2026-11-20T10:00:00.000Z');

  now(): Date {
    return new Date(this.#startMs + this.passedMs);
  }

  monotonicMs(): number {
    return this.passedMs;
  }

  async sleep(ms: number): Promise<void> {
    this.passedMs += ms;
  }
}

test.each(['free', 'professional'] as const)(
  '2,000 leads into an account with the limits of plan %s meet no 429, and take no more than 5% longer than the limits allow',
  async (limits) => {
    const clock = new WaitingClock();
    const { stub, open } = await anAccount({ parts: { clock } }, { clock, limits });
    const sink = open();
    const [before, startMs] = [stub.requestCount, clock.passedMs];
    for (let first = 1; first <= LEADS; first += 10) {
      const leads = Array.from({ length: 10 }, (_, index) => {
        const id = first + index;
        return aDelivery({ leadId: BigInt(id), raw: aLead({ id, client_email: `person${id}@example.com` }) });
      });
      const outcomes = await outcomesOf(sink, leads);
      expect(outcomes.filter(({ kind }) => kind !== 'delivered')).toEqual([]);
    }
    const { daily } = limitsOfPlans[limits];
    const used = Number(stub.requestCount);
    expect(sink.quota?.()).toEqual({ unit: 'API requests', used, limit: daily, readAt: clock.now() });
    expect([stub.records.contacts.length, stub.records.deals.length]).toEqual([LEADS, LEADS]);
    expect(stub.requests.filter(({ status }) => status === 429)).toEqual([]);
    const allowedMs = ((stub.requestCount - before) / limitsOfPlans[limits].tenSecondly) * 10_000;
    expect(clock.passedMs - startMs).toBeLessThan(allowedMs * 1.05);
  },
);
