import { expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { plans } from '../../stub/pipedrive/limits.ts';
import type { PipedriveStubOptions } from '../../stub/pipedrive/pipedrive-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aCompany, beforeRequest, type Opening, outcomesOf } from './open-pipedrive.ts';
import { WaitingClock } from './waiting-clock.ts';

const NEVER = new AbortController().signal;
const MIDNIGHT = new Date('2026-11-20T00:00:00.000Z');
const HOUR_MS = 3_600_000;
/** A lead with its person and note. */
const TOKENS = 45;

/** A company with limits, and the clock by which both it and the sinks count. */
async function limited(limits: PipedriveStubOptions['limits'], opening: Opening = {}) {
  const clock = new WaitingClock(MIDNIGHT);
  const company = await aCompany({ ...opening, parts: { clock } }, { clock, ...(limits ? { limits } : {}) });
  return { ...company, clock };
}

test.each(['lite', 'ultimate'] as const)(
  'leads into a company with the plan %s meet no 429, and take no more than 5% longer than the limits allow',
  async (plan) => {
    const { stub, open, clock } = await limited({ plan, seats: 10 });
    const sink = open();
    await outcomesOf(sink, [lead(9_999)]);
    const [before, startMs] = [stub.requests.length, clock.passedMs];
    const count = 300;
    for (let first = 1; first <= count; first += 10) {
      const leads = Array.from({ length: 10 }, (_, at) => lead(first + at));
      const outcomes = await outcomesOf(sink, leads);
      expect(outcomes.filter(({ kind }) => kind !== 'delivered')).toEqual([]);
    }
    expect(stub.records.leads).toHaveLength(count + 1);
    const requests = stub.requests.slice(before);
    expect(requests.filter(({ status }) => status === 429)).toEqual([]);
    const searches = requests.filter(({ route }) => route === 'GET /persons/search').length;
    const windows = Math.max(searches / 10, requests.length / plans[plan].burst);
    expect(clock.passedMs - startMs).toBeLessThan(windows * 2_000 * 1.05);
  },
);

test('the daily API tokens are counted as Pipedrive says, and respected before they are used up', async () => {
  const { stub, open, clock } = await limited({ plan: 'lite' });
  const sink = open();
  expect(sink.quota?.()).toBeUndefined();
  expect(await outcomesOf(sink, [lead(1)])).toMatchObject([{ kind: 'delivered' }]);
  const left = stub.limits?.tokensLeft ?? 0;
  const quota = { unit: 'tokens', used: 30_000 - left, limit: 30_000, readAt: clock.now() };
  expect(sink.quota?.()).toEqual(quota);
  stub.useUpTokens(2 * TOKENS + 5);
  const outcomes = await outcomesOf(sink, [2, 3, 4].map(lead));
  expect(outcomes).toMatchObject([{ kind: 'delivered' }, { kind: 'delivered' }, { kind: 'unavailable' }]);
  expect(outcomes[2]).toMatchObject({
    reason: expect.stringMatching(
      /has used 29995 of its 30000 daily API tokens, and a lead needs 45\. leadsync asks again within the hour/,
    ),
    retryAfterMs: HOUR_MS,
    unsent: true,
  });
  const before = stub.requests.length;
  expect(await outcomesOf(sink, [lead(4)])).toMatchObject([{ kind: 'unavailable' }]);
  expect(stub.requests.slice(before).filter(({ method }) => method === 'POST')).toEqual([]);
  expect(stub.requests.filter(({ status }) => status === 429)).toEqual([]);
  clock.passedMs += 24 * HOUR_MS;
  expect(await outcomesOf(sink, [lead(4)])).toMatchObject([{ kind: 'delivered' }]);
  expect([stub.records.persons.length, stub.records.leads.length, stub.records.notes.length]).toEqual([
    4, 4, 4,
  ]);
});

test.each([1, 2, 3, 4, 5, 6, 7])(
  'the tokens that others use up before request %d of a delivery hold the leads for an hour, and none is lost or made twice',
  async (at) => {
    const { stub, open, clock } = await limited({ plan: 'lite', seats: 2 });
    const sink = open();
    const attempt = beforeRequest(at, () => stub.useUpTokens());
    const [outcome] = await outcomesOf(sink, [lead(1)], { attempt });
    expect(outcome).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringMatching(/has used up its daily API tokens\. leadsync asks again in an hour/),
      retryAfterMs: HOUR_MS,
    });
    clock.passedMs += 24 * HOUR_MS;
    expect(await outcomesOf(sink, [{ ...lead(1), mayHaveArrived: true }])).toMatchObject([
      { kind: 'delivered' },
    ]);
    const { persons, leads, notes } = stub.records;
    expect([persons.length, leads.length, notes.length]).toEqual([1, 1, 1]);
  },
);

test('leadsync counts the tokens by `daily_tokens`, from 0 each day, if the answers of the company do not name them', async () => {
  const { stub, open, clock } = await limited(undefined, { options: { daily_tokens: 200 } });
  const sink = open();
  expect(await outcomesOf(sink, [1, 2, 3, 4, 5].map(lead))).toMatchObject([
    { kind: 'delivered' },
    { kind: 'delivered' },
    { kind: 'delivered' },
    { kind: 'unavailable', retryAfterMs: HOUR_MS },
    { kind: 'unavailable', retryAfterMs: HOUR_MS },
  ]);
  expect(sink.quota?.()).toMatchObject({ unit: 'tokens', used: 165, limit: 200 });
  clock.passedMs += 24 * HOUR_MS;
  expect(await outcomesOf(sink, [4, 5].map(lead))).toMatchObject([
    { kind: 'delivered' },
    { kind: 'delivered' },
  ]);
  expect(stub.records.leads).toHaveLength(5);
  expect((await open({ options: {} }).quota?.()) === undefined).toBe(true);
});

test('check and a test lead print how many leads the daily API tokens allow', async () => {
  const { stub, open } = await limited({ plan: 'growth' });
  const { what } = await open().test(testBatch('sink', new Date()), NEVER);
  expect(what).toMatch(
    /A lead of a new person costs 45 tokens: the company's 60000 tokens a day allow 1333 leads, and the \d+ that are left today allow \d+\.$/,
  );
  stub.useUpTokens(70);
  const checked = open().check(NEVER);
  await expect(checked).rejects.toThrow(/used \d+ of its 60000 daily API tokens, and a lead needs 45\./);
});

/** Returns a lead of a person of its own. */
function lead(id: number): Delivery {
  return aDelivery({ leadId: BigInt(id), raw: aLead({ id, client_email: `person${id}@example.com` }) });
}
