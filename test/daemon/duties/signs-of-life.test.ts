import { expect, it } from 'vitest';
import { SignsOfLife } from '../../../src/daemon/duties/signs-of-life.ts';
import { Stopwatch } from '../../../src/platform/time/stopwatch.ts';
import { HeldClock } from '../../support/time/held-clock.ts';

const TRUSTED_MS = 7_000;

it('a process is alive for as long as it trusts its last answered beat, from before that was sent', async () => {
  const clock = new HeldClock();
  const life = new SignsOfLife(TRUSTED_MS);
  expect(life.isAlive()).toBe(false);
  const sent = new Stopwatch(clock);
  await clock.pass(2_000);
  life.show(sent);
  await clock.pass(4_990);
  expect(life.isAlive()).toBe(true);
  await clock.pass(20);
  expect(life.isAlive()).toBe(false);
});

it('what began before others may have taken the process for dead does not count as alive after its next beat', async () => {
  const clock = new HeldClock();
  const life = new SignsOfLife(TRUSTED_MS);
  let revivals = 0;
  life.onRevival(() => {
    revivals += 1;
  });
  const before = new Stopwatch(clock);
  await clock.pass(10);
  life.show(new Stopwatch(clock));
  expect(life.isAliveSince(before)).toBe(false);
  await clock.pass(10);
  const begun = new Stopwatch(clock);
  for (let beats = 0; beats < 10; beats += 1) {
    await clock.pass(2_500);
    life.show(new Stopwatch(clock));
  }
  expect(life.isAliveSince(begun)).toBe(true);
  expect(revivals).toBe(1);
  await clock.pass(TRUSTED_MS + 10);
  expect(life.isAliveSince(begun)).toBe(false);
  life.show(new Stopwatch(clock));
  expect([life.isAlive(), life.isAliveSince(begun), revivals]).toEqual([true, false, 2]);
  await clock.pass(10);
  expect(life.isAliveSince(new Stopwatch(clock))).toBe(true);
});
