import { type Carrier, CarrierUnavailable } from '../../delivery/carrier.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { ClaimRequest } from '../../ledger/contract/claim.ts';
import type { LedgerDelivering } from '../../ledger/contract/ledger-delivering.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';
import type { Wake } from './wake.ts';

/** What one sink's dispatch works with: ledger and carrier are those of all sinks, the wake is its own. */
export interface DispatchParts {
  readonly ledger: LedgerDelivering;
  readonly carrier: Carrier;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Notified when the sink may have something due, or room for more. */
  readonly wake: Wake;
}

/** What is offered and does not begin is offered again this often, in ms: a carrier may lose what it holds. */
const REOFFER_MS = 5_000;
const AFTER_LEDGER_FAILURE_MS = 1_000;
/** By so much the lease of an attempt in this process is prolonged, in ms, each time that it is over and the attempt is not. */
const LEASE_EXTENSION_MS = 30_000;

/**
 * The joint between ledger and carrier, for one sink: claims what is due and offers it, until the signal aborts. Each time as
 * much as `requestNow` says.
 */
export async function dispatch(
  sink: string,
  requestNow: () => Omit<ClaimRequest, 'sink' | 'activeLeases'>,
  parts: DispatchParts,
  signal: AbortSignal,
): Promise<void> {
  const { ledger, carrier, clock, emit, wake } = parts;
  let health: SinkHealth | undefined;
  let reofferAtMs = clock.monotonicMs(); // at once: the process before this one may have offered to nobody
  while (!signal.aborted) {
    let until: Date | undefined;
    try {
      // While nothing can travel, nothing is claimed: it would only wait under a lease.
      if (carrier.unready() === undefined) {
        const activeLeases = { leases: carrier.attempting(), leaseMs: LEASE_EXTENSION_MS };
        const claimed = await ledger.claim({ sink, ...requestNow(), activeLeases });
        until = claimed.nextAt;
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
      // A carrier that is away says so itself; what was claimed is offered again until it begins or its lease ends.
      if (!(error instanceof CarrierUnavailable)) until = reportFailure(error, sink, clock, emit);
    }
    await wake.sleep(earlier(until, new Date(clock.now().getTime() + REOFFER_MS)), signal);
  }
}

/** What somebody did with the sink, in another process mostly. That an attempt holds it, or ends that, is told by the attempt. */
function reportChanges(
  sink: string,
  before: SinkHealth | undefined,
  now: SinkHealth | undefined,
  emit: Emit,
): void {
  if (now?.pausedSince && !before?.pausedSince)
    emit({ type: 'sink-paused', sink, reason: now.pausedReason ?? '' });
  if (now?.pausedSince || now?.heldSince) return;
  if (before?.pausedSince || (before?.heldSince && !hasAnswered(now, before.heldSince)))
    emit({ type: 'sink-resumed', sink });
}

/** Whether the destination has taken or refused a lead since, of which nothing is left where somebody has resumed the sink. */
function hasAnswered(health: SinkHealth | undefined, since: Date): boolean {
  if (!health) return true;
  const { lastDeliveredAt, refusals } = health;
  return refusals > 0 || (lastDeliveredAt !== undefined && lastDeliveredAt >= since);
}

function reportFailure(error: unknown, sink: string, clock: Clock, emit: Emit): Date {
  if (!(error instanceof LedgerError)) throw error;
  emit({
    type: 'ledger-failed',
    operation: `claiming deliveries of ${sink}`,
    reason: error.message,
    hint: error.hint,
  });
  return new Date(clock.now().getTime() + AFTER_LEDGER_FAILURE_MS);
}

function earlier(one: Date | undefined, other: Date): Date {
  return one && one < other ? one : other;
}
