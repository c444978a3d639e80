import { LedgerError, type LedgerErrorCode } from '../../ledger/contract/ledger-error.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Parts } from '../start/parts.ts';

/** Interval for checking that the ledger is still the one that was opened, in ms. */
const CHECK_MS = 1_000;

/** Why leadsync cannot continue, and how long attempts in progress may take to end, in ms. */
export interface DaemonFailure {
  readonly reason: string;
  /** 0 if their outcomes cannot be recorded. */
  readonly graceMs: number;
}

/** Why leadsync stops, by the code of the error that tells it. */
const GONE: Partial<Record<LedgerErrorCode, string>> = {
  newer: 'a newer leadsync has upgraded the ledger',
  moved: 'the ledger was moved',
};

/** Resolves when the ledger was removed, replaced, upgraded or moved, and reports it. Resolves to undefined when the signal aborts. */
export async function ledgerReplaced(parts: Parts, signal: AbortSignal): Promise<DaemonFailure | undefined> {
  const { current, telemetry } = parts;
  try {
    if (!(await isReplaced(parts, signal))) return undefined;
  } catch (error) {
    const reason = error instanceof LedgerError ? GONE[error.code] : undefined;
    if (reason === undefined) throw error;
    const { message, hint } = error as LedgerError;
    telemetry.emit({
      type: 'ledger-failed',
      operation: 'watching for a replaced ledger',
      reason: message,
      hint,
    });
    return { reason, graceMs: 0 };
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
