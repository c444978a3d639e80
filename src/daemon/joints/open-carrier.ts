import type { Config, SinkConfig } from '../../config/contract/config.ts';
import type { CarrierState } from '../../delivery/bullmq-carrier.ts';
import type { AttemptBatch, Carrier } from '../../delivery/carrier.ts';
import { InProcessCarrier } from '../../delivery/in-process-carrier.ts';
import type { ClaimRequest } from '../../ledger/contract/claim.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** The carrier that the configuration asks for: BullMQ where a Redis is named, else this process. */
export async function openCarrier(
  config: Config,
  parts: {
    ledgerId: string;
    attempt: AttemptBatch;
    deliver: boolean;
    clock: Clock;
    emit: Emit;
    onReady: () => void;
  },
): Promise<Carrier> {
  const { attempt, clock, deliver } = parts;
  const { redisUrl, prefix } = config.queue;
  if (!redisUrl) return new InProcessCarrier(attempt, clock);
  // Only now: the queue's packages take 20 MB, which an install without Redis need not spend.
  const { BullmqCarrier } = await import('../../delivery/bullmq-carrier.ts');
  return new BullmqCarrier({
    redisUrl,
    // The braces keep a ledger's keys together on a Redis Cluster.
    prefix: `{${prefix}:${parts.ledgerId}}`,
    marker: { prefix, ledger: parts.ledgerId },
    attempt: deliver ? attempt : undefined,
    clock,
    onState: reportState(clock, parts.emit, parts.onReady),
  });
}

/**
 * How many batches of a sink may be on their way, and how long each may wait to begin, in ms. In this process nothing waits:
 * a batch begins as it is claimed, in the same commit, and its attempt may take `attemptMs`.
 */
export function claimLimits(
  config: { readonly queue: Pick<Config['queue'], 'redisUrl'> },
  sink: Pick<SinkConfig, 'concurrency'>,
  attemptMs: number,
): Pick<ClaimRequest, 'window' | 'leaseMs' | 'beginForMs'> {
  if (!config.queue.redisUrl) return { window: sink.concurrency, leaseMs: attemptMs, beginForMs: attemptMs };
  // Enough for several worker processes, and bounded, so that Redis holds little however long the backlog is.
  return { window: Math.min(Math.max(sink.concurrency * 8, 50), 1_000), leaseMs: 600_000 };
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
