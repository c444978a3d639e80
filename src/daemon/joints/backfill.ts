import { setImmediate as turn } from 'node:timers/promises';
import type { LedgerControl } from '../../ledger/contract/ledger-control.ts';
import type { Emit } from '../../telemetry/events.ts';
import type { Wake } from './wake.ts';

/**
 * Owes a new or returning sink the leads that were listed while the sink was not configured. If the sink's `backfill` is off, records those
 * leads as skipped instead.
 */
export async function backfill(
  sink: string,
  parts: { ledger: LedgerControl; emit: Emit; wake: Wake },
  signal: AbortSignal,
): Promise<void> {
  const { ledger, emit, wake } = parts;
  const total = { owed: 0, skipped: 0 };
  for (let done = false; !done && !signal.aborted; ) {
    const part = await ledger.backfill(sink);
    done = part.done;
    total.owed += part.owed;
    total.skipped += part.skipped;
    if (part.owed > 0) wake.notify();
    await turn();
  }
  if (total.owed + total.skipped > 0) emit({ type: 'backfill', sink, ...total, done: !signal.aborted });
}
