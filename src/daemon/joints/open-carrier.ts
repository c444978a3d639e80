import type { Config, SinkConfig } from '../../config/contract/config.ts';
import type { CarrierState } from '../../delivery/bullmq-carrier.ts';
import type { AttemptBatch, Carrier } from '../../delivery/carrier.ts';
import { InProcessCarrier } from '../../delivery/in-process-carrier.ts';
import type { ClaimRequest } from '../../ledger/contract/claim.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** Opens the configured carrier: BullMQ if the configuration names a Redis server, otherwise in-process. */
export async function openCarrier(
  config: Config,
  parts: {
    ledgerId: string;
    attempt: AttemptBatch;
    deliver: boolean;
    /** Whether other processes can see that this one is alive. */
    isAlive: () => boolean;
    clock: Clock;
    emit: Emit;
    onReady: () => void;
  },
): Promise<Carrier> {
  const { clock, deliver, isAlive } = parts;
  const { redis, prefix } = config.queue;
  if (!redis) return new InProcessCarrier(parts.attempt, clock);
  // A batch that is not attempted is offered again in a few seconds, perhaps to a process that the others can see.
  const attempt: AttemptBatch = async (ref, signal) => {
    if (isAlive()) await parts.attempt(ref, signal);
  };
  // Lazy: the queue's packages take 20 MB of memory, and without Redis leadsync does not need these packages.
  const { BullmqCarrier } = await import('../../delivery/bullmq-carrier.ts');
  return new BullmqCarrier({
    redis,
    // Braces put all keys of a ledger into the same hash slot of a Redis Cluster.
    prefix: `{${prefix}:${parts.ledgerId}}`,
    marker: { prefix, ledger: parts.ledgerId },
    attempt: deliver ? attempt : undefined,
    clock,
    onState: reportState(clock, parts.emit, parts.onReady),
  });
}

/**
 * Returns the maximum number of a sink's batches in flight, and the length of their leases, in ms. With Redis, the lease covers the wait until the
 * attempt begins. In process, the same commit claims the batch and begins its attempt, so the lease covers the attempt (`attemptMs`).
 */
export function claimLimits(
  config: { readonly queue: Pick<Config['queue'], 'redis'> },
  { concurrency, rate }: Pick<SinkConfig, 'concurrency' | 'rate'>,
  attemptMs: number,
): Pick<ClaimRequest, 'window' | 'leaseMs' | 'beginForMs'> {
  if (!config.queue.redis) return { window: concurrency, leaseMs: attemptMs, beginForMs: attemptMs };
  // Enough for several worker processes, but bounded, so that Redis holds few jobs even if the backlog is long.
  const window = Math.min(Math.max(concurrency * 8, 50), 1_000);
  // Workers that come back attempt all waiting batches together, so only a few may wait if the sink has a rate.
  return { window: rate ? Math.min(window, concurrency) : window, leaseMs: 600_000 };
}

function reportState(clock: Clock, emit: Emit, onReady: () => void): (state: CarrierState) => void {
  let downSinceMs: number | undefined;
  return (state) => {
    if (state.kind === 'warning') emit({ type: 'carrier-warning', reason: state.reason, hint: state.hint });
    if (state.kind === 'disconnected') {
      downSinceMs ??= clock.monotonicMs();
      emit({ type: 'carrier-unavailable', reason: state.reason, hint: state.hint });
    }
    if (state.kind === 'connected') onReady();
    if (state.kind === 'connected' && downSinceMs !== undefined) {
      emit({ type: 'carrier-recovered', downMs: Math.round(clock.monotonicMs() - downSinceMs) });
      downSinceMs = undefined;
    }
  };
}
