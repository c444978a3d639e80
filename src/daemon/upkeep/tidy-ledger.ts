import type { LedgerUpkeep } from '../../ledger/contract/ledger-upkeep.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

const EVERY_MS = 30_000;
/** From here on somebody's open query is worth a word. */
const REPORTED_BYTES = 256 * 1024 * 1024;

/** How long leadsync looks for damage, in ms; a ledger that takes longer is left to `leadsync check`. */
const INSPECTING_MS = 10 * 60_000;

/** Looks once for damage in the ledger, beside polls and deliveries. What is found stays the reason why leadsync is not ready. */
export async function inspectLedger(ledger: LedgerUpkeep, emit: Emit, signal: AbortSignal): Promise<void> {
  const damage = await ledger.inspect(AbortSignal.any([signal, AbortSignal.timeout(INSPECTING_MS)]));
  if (!damage) return;
  const { message: reason, hint } = damage;
  emit({ type: 'ledger-failed', operation: 'looking for damage', reason, hint });
}

/** Keeps the ledger's log short, and says when a query of somebody else's, left open, makes it grow. */
export async function tidyLedger(
  ledger: LedgerUpkeep,
  clock: Clock,
  emit: Emit,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(EVERY_MS, signal);
    if (signal.aborted) return;
    const { pinnedBytes } = await ledger.checkpointLog();
    if (pinnedBytes > REPORTED_BYTES) emit({ type: 'ledger-held-up', bytes: pinnedBytes });
  }
}

/** Notes again and again how far the ledger has come, so that an older copy of it is noticed after a kill as well. */
export async function recordProgress(ledger: LedgerUpkeep, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(EVERY_MS, signal);
    if (!signal.aborted) await ledger.recordProgress();
  }
}
