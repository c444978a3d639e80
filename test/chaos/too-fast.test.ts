import { expect, test } from 'vitest';
import { tooFast } from './too-fast.ts';
import type { WatchedRequest } from './watched-receiver.ts';

const RATE = { perSecond: 10, concurrency: 5 };

/** Returns this many requests, one each so many ms. */
function requests(count: number, everyMs: number): WatchedRequest[] {
  return Array.from({ length: count }, (_, at) => ({ sentMs: 60_000 + at * everyMs }) as WatchedRequest);
}

test.each([
  ['at the rate', 200, 100, [], undefined],
  ['at once, as many as may wait for a slow process', 25, 0, [], undefined],
  ['at once', 60, 0, [], '60 requests within 1 s, and 25 are the most'],
  ['at twice the rate for a long time', 400, 50, [], '200 requests within 10 s, and 115 are the most'],
  ['at once, of processes that followed one another', 60, 0, [60_000, 60_300, 60_600, 60_900], undefined],
])('requests %s', (_, count, everyMs, ends, fault) => {
  const troubles = { ends: ends.map((atMs) => ({ atMs, inOrder: false })) };
  const faults = tooFast('even', requests(count, everyMs), RATE, troubles);
  expect(faults).toEqual(fault === undefined ? [] : [`even: ${fault}`]);
});
