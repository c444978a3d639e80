import { expect, it } from 'vitest';
import { OtherProcesses } from '../../../src/daemon/duties/other-processes.ts';
import { leaseTimes } from '../../../src/ledger/rules/machines/lease-times.ts';
import { HeldClock } from '../../support/time/held-clock.ts';

const LEASE_MS = 10_000;

/** What a process sees of another one, whose beats and whose age by the ledger's clock the test gives. */
function aScene() {
  const clock = new HeldClock();
  const others = new OtherProcesses(clock, leaseTimes(LEASE_MS));
  const see = (lastBeat: string, seenMsAgo: number) => {
    const other = { machine: 'there', role: 'run', sinks: [], folders: [], wants: [], reluctant: [] };
    others.see({ processes: [{ ...other, holder: 'other', lastBeat, seenMsAgo }] }, 'own');
    return others.isDead('other');
  };
  return { clock, others, see };
}

it('a process is dead when it was not seen for a lease, by the clocks of ledger and machine', async () => {
  const { clock, see } = aScene();
  expect(see('1', 0)).toBe(false);
  await clock.pass(LEASE_MS - 10);
  expect(see('1', LEASE_MS - 10)).toBe(false);
  await clock.pass(10);
  expect(see('1', LEASE_MS)).toBe(true);
  expect(see('2', 0)).toBe(false);
});

it('a clock of the server that is set ahead makes no process dead, and one that is set back keeps none alive', async () => {
  const { clock, see } = aScene();
  expect(see('1', 3_600_000)).toBe(false);
  await clock.pass(2_500);
  expect(see('2', 0)).toBe(false);
  await clock.pass(LEASE_MS + 10);
  expect(see('2', -3_600_000)).toBe(true);
});

it('time that passes without an answer makes no process dead, because it may have beaten meanwhile', async () => {
  const { clock, others, see } = aScene();
  see('1', 0);
  await clock.pass(10 * LEASE_MS);
  expect(others.isDead('other')).toBe(false);
  expect(see('2', 0)).toBe(false);
  expect(others.isDead('unknown')).toBe(false);
});
