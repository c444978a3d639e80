import type { Ledger } from '../../ledger/contract/ledger.ts';
import { noteErasures } from '../../operations/erasure/erasure-journal.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Clock } from '../../platform/time/clock.ts';

/** Interval at which a machine looks for erasures that others have made, in ms. */
const NOTE_MS = 60_000;

/** Keeps the journal of erasures in a data directory up to date with those that other machines make, until `signal` aborts. */
export async function noteErasuresOfOthers(
  ledger: Pick<Ledger, 'erasedLeads'>,
  dataDir: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await nextBeat(clock, NOTE_MS, signal);
    if (!signal.aborted) await noteErasures(ledger, dataDir);
  }
}
