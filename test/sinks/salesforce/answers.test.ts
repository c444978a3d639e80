import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mayHaveArrived, type Outcome } from '../../../src/leads/outcome.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import type { Answer } from '../../stub/salesforce/answer.ts';
import { allTables } from '../../stub/salesforce/answers.ts';
import type { SalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aPreparedOrg, openSalesforce } from './open-salesforce.ts';

const NEVER = new AbortController().signal;

let stub: SalesforceStub;
let sink: Sink;

beforeEach(async () => {
  stub = await aPreparedOrg();
  sink = openSalesforce(stub);
});
afterEach(async () => {
  await sink.close();
  await stub.close();
});

async function deliverOne(): Promise<Outcome> {
  try {
    const [outcome] = await sink.deliver(aBatch([aDelivery()]), NEVER);
    return outcome as Outcome;
  } catch (error) {
    if (error instanceof SinkUnavailable) return error.toOutcome();
    throw error;
  }
}

/** The sink asks twice where a second request may be answered in another way: with a new token, or without a value. */
function answerAlways(endpoint: 'token' | 'upsert', answer: Answer): void {
  stub.answerNext(endpoint, answer, answer);
}

function reasonOf(outcome: Outcome): string {
  return 'reason' in outcome ? outcome.reason : '';
}

describe('what the answers of Salesforce mean', () => {
  test.each(allTables.token)('to a request for a token: $name', async ({ answer, meaning }) => {
    answerAlways('token', answer);
    const outcome = await deliverOne();
    expect(outcome.kind).toBe(meaning);
    expect(mayHaveArrived(outcome)).toBe(false);
    expect(reasonOf(outcome)).toMatch(/^Salesforce at http:\S+ .+\. .+\.$/);
    expect(reasonOf(outcome)).not.toContain(stub.clientSecret);
    stub.behave();
    expect((await deliverOne()).kind).toBe('delivered');
  });

  test.each(allTables.request)('to a whole request: $name', async ({ answer, meaning }) => {
    answerAlways('upsert', answer);
    const outcome = await deliverOne();
    expect(outcome.kind).toBe(meaning);
    expect(mayHaveArrived(outcome)).toBe(answer.status < 300 || answer.status >= 500);
    expect(reasonOf(outcome)).toMatch(/^Salesforce at http:\S+ .+\. .+\.$/);
    stub.behave();
    expect((await deliverOne()).kind).toBe('delivered');
  });

  test.each(allTables.record)('about one record: $name', async ({ errors, meaning }) => {
    answerAlways('upsert', { status: 200, body: [{ success: false, errors, created: false }] });
    const outcome = await deliverOne();
    expect(outcome.kind).toBe(meaning);
    expect(mayHaveArrived(outcome)).toBe(meaning === 'delivered' || errors.length === 0);
    for (const { message } of errors) expect(reasonOf(outcome)).not.toContain(message);
  });

  test('a code that is a text of a lead is not shown', async () => {
    const errors = [{ statusCode: 'Anna Example', message: 'Anna', fields: ['Anna Example'] }];
    answerAlways('upsert', { status: 200, body: [{ success: false, errors }] });
    const outcome = await deliverOne();
    expect(outcome.kind).toBe('refused');
    expect(reasonOf(outcome)).not.toContain('Anna');
  });

  test('the reason for errors of a server that is not Salesforce names `domain`', async () => {
    answerAlways('token', { status: 401, body: { error: 'Bad credentials', code: 401 } });
    expect(reasonOf(await deliverOne())).toMatch(/gave no token .* Check `domain`/);
  });

  test('the limits of requests ask for a wait of their own', async () => {
    const limit = (message: string) => ({
      status: 403,
      body: [{ errorCode: 'REQUEST_LIMIT_EXCEEDED', message }],
    });
    stub.answerNext('upsert', limit('TotalRequests Limit exceeded.'));
    expect(await deliverOne()).toMatchObject({ retryAfterMs: 3_600_000 });
    stub.answerNext('upsert', limit('ConcurrentPerOrgLongTxn Limit exceeded.'));
    expect(await deliverOne()).toMatchObject({ retryAfterMs: 60_000 });
  });
});
