import { type Carrier, CarrierUnavailable } from '../../delivery/carrier.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { ClaimRequest } from '../../ledger/contract/claim.ts';
import type { LedgerDelivering } from '../../ledger/contract/ledger-delivering.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';
import type { BatchThrottle } from './batch-throttle.ts';
import type { Wake } from './wake.ts';

/** What `dispatch` needs for one sink. All sinks share the ledger and the carrier; each sink has its own wake. */
export interface DispatchParts {
  readonly ledger: LedgerDelivering;
  readonly carrier: Carrier;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Notified when a delivery may be due, or when there may be room for another batch in flight. */
  readonly wake: Wake;
  /** Limits how fast batches are claimed; absent: as fast as they can be delivered. */
  readonly throttle?: BatchThrottle | undefined;
  /** Whether other processes can see that this one is alive, so that it may claim. Absent: it always may. */
  readonly isAlive?: (() => boolean) | undefined;
}

/** Interval at which batches whose attempts have not begun are offered again, in ms. A carrier may lose what it holds. */
const REOFFER_MS = 5_000;
const AFTER_LEDGER_FAILURE_MS = 1_000;
/** Extension of the lease of an attempt that still runs in this process when its lease ends, in ms. */
const LEASE_EXTENSION_MS = 30_000;

/**
 * The joint between ledger and carrier for one sink: claims due deliveries and offers them until the signal aborts. `requestNow`
 * returns the limits of each claim.
 */
export async function dispatch(
  sink: string,
  requestNow: () => Omit<ClaimRequest, 'sink' | 'activeLeases'>,
  parts: DispatchParts,
  signal: AbortSignal,
): Promise<void> {
  const { ledger, carrier, clock, emit, wake, throttle, isAlive = () => true } = parts;
  let health: SinkHealth | undefined;
  let reofferAtMs = clock.monotonicMs(); // immediately: the previous process may have ended before its offer arrived
  while (!signal.aborted) {
    let nextMs = Number.POSITIVE_INFINITY;
    try {
      // While the carrier is unavailable, claim nothing, because batches would only wait under a lease.
      if (carrier.unready() === undefined && isAlive()) {
        const activeLeases = { leases: carrier.attempting(), leaseMs: LEASE_EXTENSION_MS };
        // Claims even if the throttle allows no batch, because the claim also extends leases and returns the health of the sink.
        const startMs = clock.monotonicMs();
        const claimed = await ledger.claim({ sink, ...requestNow(), most: throttle?.room(), activeLeases });
        throttle?.add(claimed.refs.length);
        if (claimed.nextInMs !== undefined) nextMs = startMs + claimed.nextInMs;
        reportChanges(sink, health, claimed.health, emit);
        health = claimed.health;
        if (claimed.refs.length > 0) {
          reach('claimed');
          await carrier.offer(claimed.refs);
          reach('offered');
        }
      }
      if (clock.monotonicMs() >= reofferAtMs) {
        reofferAtMs = clock.monotonicMs() + REOFFER_MS;
        const waiting = await ledger.unbegunBatches(sink);
        if (waiting.length > 0) await carrier.offer(waiting);
      }
    } catch (error) {
      // An unavailable carrier reports itself. Claimed batches are offered again until they begin or their leases end.
      if (!(error instanceof CarrierUnavailable)) {
        reportFailure(error, sink, emit);
        nextMs = clock.monotonicMs() + AFTER_LEDGER_FAILURE_MS;
      }
    }
    await wake.sleep(
      Math.min(nextMs, throttle?.nextAtMs() ?? nextMs, clock.monotonicMs() + REOFFER_MS),
      signal,
    );
  }
}

/**
 * Reports that an operator paused or resumed the sink, usually through another process. The attempts themselves report when the sink is
 * held or recovers.
 */
function reportChanges(
  sink: string,
  before: SinkHealth | undefined,
  now: SinkHealth | undefined,
  emit: Emit,
): void {
  if (now?.pausedSince && !before?.pausedSince)
    emit({ type: 'sink-paused', sink, reason: now.pausedReason ?? '' });
  if (before?.pausedSince && !now?.pausedSince) emit({ type: 'sink-resumed', sink });
}

/** Reports that the ledger failed. @throws any other error */
function reportFailure(error: unknown, sink: string, emit: Emit): void {
  if (!(error instanceof LedgerError)) throw error;
  emit({
    type: 'ledger-failed',
    operation: `claiming deliveries of ${sink}`,
    reason: error.message,
    hint: error.hint,
  });
}
