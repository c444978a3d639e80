import { expect, test } from 'vitest';
import { LedgerUnderTest, MINUTE } from './ledger-under-test.ts';
import { sqliteStore } from './sqlite-store.ts';

const failed = {
  status: 'failed',
  httpStatus: 503,
  error: 'server: It answers with an error (503).',
} as const;

/** Returns since when the polls of main fail. */
async function failingSince({ ledger }: LedgerUnderTest): Promise<Date | undefined> {
  return (await ledger.status()).sources.find(({ source }) => source === 'main')?.failingSince;
}

/** Lets a poll of main fail, a minute after what came before. Returns its start. */
async function fail(on: LedgerUnderTest): Promise<Date> {
  on.clock.jump(MINUTE);
  const startedAt = on.clock.now();
  await on.ledger.finishPoll(await on.ledger.startPoll('main'), failed);
  return startedAt;
}

test('polls fail since the first one after the last that was complete', async () => {
  const on = await LedgerUnderTest.with(sqliteStore(), 'crm');
  const first = await fail(on);
  await fail(on);
  expect(await failingSince(on)).toEqual(first);
  const running = await on.ledger.startPoll('main');
  expect(await failingSince(on), 'while another poll runs').toEqual(first);
  await on.ledger.finishPoll(running, failed);
  await on.list([1]);
  expect(await failingSince(on)).toBeUndefined();
  const second = await fail(on);
  await on.list([2], 'another');
  await fail(on);
  expect(await failingSince(on)).toEqual(second);
});
