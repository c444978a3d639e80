import { expect, test } from 'vitest';
import { ledgerReplaced } from '../../../src/daemon/watching/ledger-lost.ts';
import { LedgerError } from '../../../src/ledger/contract/ledger-error.ts';
import type { Event } from '../../../src/telemetry/events.ts';
import { HeldClock } from '../../support/time/held-clock.ts';

type Parts = Parameters<typeof ledgerReplaced>[0];

/** Returns the parts that these functions use, and the events that they emit. */
function parts(isReplaced: () => Promise<boolean>) {
  const events: Event['type'][] = [];
  const clock = new HeldClock();
  const config = { dataDir: '/data', ledgerServer: undefined, gracePeriodMs: 25_000 };
  const telemetry = { emit: ({ type }: Event) => events.push(type) };
  const made = { ledger: { isReplaced }, clock, current: { config }, telemetry };
  return { parts: made as unknown as Parts, events, clock };
}

const newer = new LedgerError('newer', 'It is newer.', 'Upgrade.');
const moved = new LedgerError('moved', 'It was moved.', 'Use that one.');

test.each([
  { what: 'replaced', isReplaced: async () => true, event: 'ledger-replaced' },
  { what: 'upgraded', isReplaced: () => Promise.reject(newer), event: 'ledger-failed' },
  { what: 'moved', isReplaced: () => Promise.reject(moved), event: 'ledger-failed' },
])('a process whose ledger was $what stops without a grace period', async ({ isReplaced, event }) => {
  const { parts: own, events, clock } = parts(isReplaced);
  const failure = ledgerReplaced(own, new AbortController().signal);
  await clock.pass(2_000);
  expect(await failure).toMatchObject({ graceMs: 0 });
  expect(events).toEqual([event]);
});

test('any other failure to read the ledger is left to the caller, which tries again', async () => {
  const busy = new LedgerError('busy', 'It is locked.', 'Wait.');
  const { parts: own, events, clock } = parts(() => Promise.reject(busy));
  const failure = ledgerReplaced(own, new AbortController().signal);
  const rejected = expect(failure).rejects.toBe(busy);
  await clock.pass(2_000);
  await rejected;
  expect(events).toEqual([]);
});
