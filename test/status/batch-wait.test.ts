import { expect, test } from 'vitest';
import { batchWaitEnd } from '../../src/status/batch-wait.ts';

const now = new Date('2026-11-20T10:00:00Z');
const before = (seconds: number) => new Date(now.getTime() - seconds * 1000);
const due = { state: 'pending', inBatch: false, owedAt: before(60), nextAttemptAt: before(60) } as const;
const end = new Date('2026-11-20T10:04:00Z');

test.each([
  ['is due and was owed a minute ago', due, end],
  ['is in a batch', { ...due, inBatch: true }, undefined],
  ['is not due, because it waits for a retry', { ...due, nextAttemptAt: before(-1) }, undefined],
  ['has waited for as long as a batch may', { ...due, owedAt: before(300) }, undefined],
  ['was owed while the clock was ahead', { ...due, owedAt: before(-1) }, undefined],
  ['is delivered', { ...due, state: 'delivered', nextAttemptAt: undefined }, undefined],
] as const)('a delivery that %s', (_, delivery, expected) => {
  expect(batchWaitEnd(delivery, { waitMs: 300_000 }, now)).toEqual(expected);
});

test('no delivery waits for a batch of a sink that closes every batch immediately', () => {
  expect(batchWaitEnd(due, { waitMs: 0 }, now)).toBeUndefined();
});
