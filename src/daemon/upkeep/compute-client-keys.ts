import type { LedgerControl } from '../../ledger/contract/ledger-control.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Clock } from '../../platform/time/clock.ts';

const EVERY_MS = 2_000;
/** Pause between two parts, in ms, so that polls and deliveries come first. */
const REST_MS = 5;

/** Computes the client key of each new lead, and of all leads after the configured key has changed, until the signal aborts. */
export async function computeClientKeys(
  ledger: LedgerControl,
  keyNow: () => Secret | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const done = await ledger.computeClientKeys(keyNow()?.reveal());
    await (done ? nextBeat(clock, EVERY_MS, signal) : clock.sleep(REST_MS, signal));
  }
}

/** Computes all missing client keys once, without pauses. */
export async function computeMissingClientKeys(
  ledger: LedgerControl,
  key: Secret | undefined,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !(await ledger.computeClientKeys(key?.reveal())));
}
