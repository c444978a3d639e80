import { expect, test } from 'vitest';
import { nextBeat } from '../../src/platform/time/aligned-sleep.ts';
import type { Clock } from '../../src/platform/time/clock.ts';

/** What a sleep is asked for at a moment, in ms. */
function sleptAt(nowMs: number, everyMs: number): number {
  let slept = 0;
  const clock: Clock = {
    now: () => new Date(nowMs),
    monotonicMs: () => nowMs,
    sleep: async (ms) => {
      slept = ms;
    },
  };
  void nextBeat(clock, everyMs);
  return slept;
}

test('all aligned sleepers wake at the same moments, whenever they began', () => {
  const wakesAt = [3_100, 3_400.5, 3_899].map((nowMs) => nowMs + sleptAt(nowMs, 1_000));
  expect(wakesAt).toEqual([4_000, 4_000, 4_000]);
  expect(3_100 + sleptAt(3_100, 2_000)).toBe(4_000);
});

test('a timer that fires a little early does not wake a sleeper twice', () => {
  expect(3_999.6 + sleptAt(3_999.6, 1_000)).toBe(5_000);
});
