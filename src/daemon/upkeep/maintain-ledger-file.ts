import type { LedgerUpkeep } from '../../ledger/contract/ledger-upkeep.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

const EVERY_MS = 30_000;
/** Size from which leadsync reports a write-ahead log that an open query pins, in bytes. */
const REPORTED_BYTES = 256 * 1024 * 1024;

/** Maximum time for inspecting the ledger, in ms. `leadsync check` has no such limit. */
const INSPECTING_MS = 10 * 60_000;

/** Inspects the ledger for damage once, concurrently with polls and deliveries. Damage makes leadsync report that it is not ready. */
export async function inspectLedger(ledger: LedgerUpkeep, emit: Emit, signal: AbortSignal): Promise<void> {
  const damage = await ledger.inspect(AbortSignal.any([signal, AbortSignal.timeout(INSPECTING_MS)]));
  if (!damage) return;
  const { message: reason, hint } = damage;
  emit({ type: 'ledger-failed', operation: 'looking for damage', reason, hint });
}

/** Keeps the write-ahead log short, and reports when an open query of another process makes it grow. */
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

/**
 * Writes the high-water mark every 30 s until `signal` aborts, so that the next start detects an older copy of the ledger even if leadsync was
 * killed.
 */
export async function recordProgress(ledger: LedgerUpkeep, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(EVERY_MS, signal);
    if (!signal.aborted) await ledger.recordProgress();
  }
}
