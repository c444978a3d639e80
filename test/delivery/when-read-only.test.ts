import { expect, test } from 'vitest';
import { reconnectWhenReadOnly } from '../../src/delivery/reconnect-when-read-only.ts';

test('the worker reconnects once for all pending replies of a Redis that became read-only, and again later', () => {
  let nowMs = 0;
  const givesUp = reconnectWhenReadOnly(() => nowMs);
  const readOnly = new Error("READONLY You can't write against a read only replica.");
  expect(givesUp(new Error('OOM command not allowed'))).toBe(false);
  expect(Array.from({ length: 20 }, () => givesUp(readOnly)).filter(Boolean)).toHaveLength(1);
  nowMs += 1_000;
  expect(givesUp(readOnly)).toBe(true);
});
