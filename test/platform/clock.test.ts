import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/platform/time/clock.ts';

test('a sleep whose end has passed already ends, and Node.js warns of nothing in the log', async () => {
  const watching = new AbortController();
  const warnings: unknown[] = [];
  const watched = once(process, 'warning', { signal: watching.signal }).then(
    (warning) => warnings.push(...warning),
    () => undefined,
  );
  await systemClock.sleep(-2);
  await turn();
  watching.abort();
  await watched;
  expect(warnings).toEqual([]);
});
