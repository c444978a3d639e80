import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Parts } from '../start/compose.ts';

/** Interval for checking that the ledger is still the one that was opened, in ms. */
const CHECK_MS = 1_000;

/** Why leadsync cannot continue, and how long attempts in progress may take to end, in ms. */
export interface DaemonFailure {
  readonly reason: string;
  /** 0 if their outcomes cannot be recorded. */
  readonly graceMs: number;
}

/** Resolves when another process has taken the ledger over, and reports it. Never resolves for a ledger that only one process can open. */
export async function ledgerTakenOver({ ledgerLost, current, telemetry }: Parts): Promise<DaemonFailure> {
  const by = await (ledgerLost ?? new Promise<never>(() => undefined));
  telemetry.emit({ type: 'ledger-taken-over', where: ledgerPlaceOf(current.config).where, by });
  // The leases of this process's batches are still its own.
  return { reason: 'another leadsync took the ledger over', graceMs: current.config.gracePeriodMs };
}

/** Resolves when the ledger was removed, replaced or upgraded, and reports it. Resolves to undefined when the signal aborts. */
export async function ledgerReplaced(parts: Parts, signal: AbortSignal): Promise<DaemonFailure | undefined> {
  const { current, telemetry } = parts;
  try {
    if (!(await isReplaced(parts, signal))) return undefined;
  } catch (error) {
    if (!(error instanceof LedgerError && error.code === 'newer')) throw error;
    const { message: reason, hint } = error;
    telemetry.emit({ type: 'ledger-failed', operation: 'watching for a replaced ledger', reason, hint });
    return { reason: 'a newer leadsync has upgraded the ledger', graceMs: 0 };
  }
  const { where, whenReplaced: hint } = ledgerPlaceOf(current.config);
  telemetry.emit({ type: 'ledger-replaced', dataDir: current.config.dataDir, where, hint });
  return { reason: 'the ledger was replaced', graceMs: 0 };
}

async function isReplaced({ ledger, clock }: Parts, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    await nextBeat(clock, CHECK_MS, signal);
    if (!signal.aborted && (await ledger.isReplaced())) return true;
  }
  return false;
}
