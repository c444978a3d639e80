import type { SinkConfig } from '../config/contract/config.ts';
import type { DeliveryRow } from '../ledger/contract/status-rows.ts';

type Waiting = Pick<DeliveryRow, 'state' | 'inBatch' | 'owedAt' | 'nextAttemptAt'>;

/**
 * Returns until when a due delivery waits at most for its batch to fill, by the rule of the claim: deliveries that do not fill a batch wait for
 * `waitMs` after they were owed. Returns undefined if it is in a batch, is not due, or has waited that long.
 */
export function batchWaitEnd(
  { state, inBatch, owedAt, nextAttemptAt }: Waiting,
  { waitMs }: Pick<SinkConfig['batch'], 'waitMs'>,
  now: Date,
): Date | undefined {
  const isDue = state === 'pending' && !inBatch && nextAttemptAt !== undefined && nextAttemptAt <= now;
  const end = new Date(owedAt.getTime() + waitMs);
  return isDue && owedAt <= now && end > now ? end : undefined;
}
