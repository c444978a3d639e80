import { type Carrier, CarrierUnavailable, type Workers } from '../../delivery/carrier.ts';
import type { BatchRef } from '../../leads/delivery.ts';
import type { LedgerDelivering } from '../../ledger/contract/ledger-delivering.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** What a watchdog looks at: what the ledger has waiting, and what the workers of this process begin. */
export interface WatchParts {
  readonly ledger: Pick<LedgerDelivering, 'unbegunBatches'>;
  readonly carrier: Pick<Carrier, 'offer' | 'unready' | 'workers'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

const CHECK_INTERVAL_MS = 3_000;
/** A worker is replaced that begins nothing at so many looks in a row. Looks are counted, since a process that was frozen sleeps too. */
const CHECKS_BEFORE_REPLACING = 4;
/** Where a new one is as silent, it is given longer each time, up to ten minutes. */
const MAX_CHECKS_BEFORE_REPLACING = 200;

/**
 * The watchdog, for one sink: a worker that could begin an attempt and begins none, while the carrier is ready and a batch
 * waits for it, has fallen silent and is replaced. Watches until the signal aborts.
 */
export async function watchWorkers(sink: string, parts: WatchParts, signal: AbortSignal): Promise<void> {
  const { carrier, clock, emit } = parts;
  const { workers } = carrier;
  if (!workers) return;
  const check = silenceCheck(sink, workers, parts);
  let patience = CHECKS_BEFORE_REPLACING;
  for (let silent = 0; !signal.aborted; ) {
    await clock.sleep(CHECK_INTERVAL_MS, signal);
    const { progress, stuck } = await check();
    if (progress) patience = CHECKS_BEFORE_REPLACING;
    silent = stuck.length > 0 ? silent + 1 : 0;
    if (silent < patience || signal.aborted) continue;
    workers.replace(sink);
    emit({ type: 'carrier-replaced', sink, waiting: stuck.length, silentMs: silent * CHECK_INTERVAL_MS });
    silent = 0;
    patience = Math.min(patience * 2, MAX_CHECKS_BEFORE_REPLACING);
  }
}

/** Compares with the look before: whether anything began, and which batches were stuck although there is room for them. */
function silenceCheck(sink: string, workers: Workers, { ledger, carrier }: WatchParts) {
  let { begun } = workers.pulse(sink);
  let waited = new Set<string>();
  return async (): Promise<{ progress: boolean; stuck: readonly BatchRef[] }> => {
    const pulse = workers.pulse(sink);
    const progress = pulse.begun !== begun;
    begun = pulse.begun;
    const waiting = await ledger.unbegunBatches(sink);
    const stuck = waiting.filter((ref) => waited.has(keyOf(ref)));
    waited = new Set(waiting.map(keyOf));
    if (progress || !pulse.room || stuck.length === 0) return { progress, stuck: [] };
    return { progress, stuck: (await carrierHas(stuck, carrier)) ? stuck : [] };
  };
}

/** Whether the carrier has these batches. What it may have lost is not the workers' fault, so it is offered once more. */
async function carrierHas(refs: readonly BatchRef[], carrier: WatchParts['carrier']): Promise<boolean> {
  if (carrier.unready() !== undefined) return false;
  try {
    await carrier.offer(refs);
    return true;
  } catch (error) {
    if (error instanceof CarrierUnavailable) return false; // it says so itself
    throw error;
  }
}

function keyOf({ batch, lease }: BatchRef): string {
  return `${batch}-${lease}`;
}
