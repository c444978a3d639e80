import { type Carrier, CarrierUnavailable, type Workers } from '../../delivery/carrier.ts';
import type { BatchRef } from '../../leads/delivery.ts';
import type { LedgerDelivering } from '../../ledger/contract/ledger-delivering.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** What `watchWorkers` works with. */
export interface WatchParts {
  readonly ledger: Pick<LedgerDelivering, 'unbegunBatches'>;
  readonly carrier: Pick<Carrier, 'offer' | 'unready' | 'workers'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

const CHECK_INTERVAL_MS = 3_000;
/**
 * Number of consecutive silent checks before a worker is replaced. A number of checks rather than a time, because a process may be frozen
 * for a while.
 */
const CHECKS_BEFORE_REPLACING = 4;
/**
 * Maximum number of silent checks before a worker is replaced; they take ten minutes. The number doubles each time the new worker is silent
 * as well.
 */
const MAX_CHECKS_BEFORE_REPLACING = 200;

/**
 * Watches one sink's worker until the signal aborts. Replaces the worker if it begins no attempt although it has room, the carrier is ready
 * and a batch is waiting.
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

/**
 * Returns a function that reports what happened since its previous call: whether an attempt began, and, if none began although there is
 * room, which batches are stuck.
 */
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

/** Offers the batches again, because the carrier may have lost them. Returns whether the carrier has them now. */
async function carrierHas(refs: readonly BatchRef[], carrier: WatchParts['carrier']): Promise<boolean> {
  if (carrier.unready() !== undefined) return false;
  try {
    await carrier.offer(refs);
    return true;
  } catch (error) {
    if (error instanceof CarrierUnavailable) return false; // the carrier reports this itself
    throw error;
  }
}

function keyOf({ batch, lease }: BatchRef): string {
  return `${batch}-${lease}`;
}
