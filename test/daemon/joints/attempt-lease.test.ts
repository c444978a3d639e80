import { expect, it } from 'vitest';
import { SignsOfLife } from '../../../src/daemon/duties/signs-of-life.ts';
import { AttemptLease } from '../../../src/daemon/joints/attempt-lease.ts';
import { Stopwatch } from '../../../src/platform/time/stopwatch.ts';
import { HeldClock } from '../../support/time/held-clock.ts';

const TRUSTED_MS = 7_000;

it('nothing is sent under a lease that other processes may have ended, because they could not see this one', async () => {
  const clock = new HeldClock();
  const life = new SignsOfLife(TRUSTED_MS);
  life.show(new Stopwatch(clock));
  await clock.pass(10);
  const lease = new AttemptLease(new Stopwatch(clock), 60_000, (since) => life.isAliveSince(since));
  await clock.pass(TRUSTED_MS - 100);
  expect(lease.confirm).not.toThrow();
  expect(lease.wasOver).toBe(false);
  await clock.pass(200);
  expect(lease.confirm).toThrow('lease');
  // The next beat does not bring back what another process may have begun.
  life.show(new Stopwatch(clock));
  expect(lease.confirm).toThrow('lease');
  expect(lease.wasOver).toBe(true);
});
