import type { LedgerControl } from '../../ledger/contract/ledger-control.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { nextBeat } from '../../platform/time/beat.ts';
import type { Clock } from '../../platform/time/clock.ts';

const EVERY_MS = 2_000;
/** Between two parts: others come first. */
const REST_MS = 5;

/** Gives each new lead the key of its client, and all of them once the key in the configuration is another one. */
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

/** Does so once, without a rest. */
export async function keyClientsOnce(
  ledger: LedgerControl,
  key: Secret | undefined,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !(await ledger.computeClientKeys(key?.reveal())));
}
