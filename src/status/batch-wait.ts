import type { SinkConfig } from '../config/contract/config.ts';
import type { DeliveryRow } from '../ledger/contract/status-rows.ts';

type Waiting = Pick<DeliveryRow, 'state' | 'inBatch' | 'owedAt' | 'nextAttemptAt'>;

/** Returns the latest time until which a delivery waits for its batch to fill; undefined if it does not wait for that. */
export type BatchWait = (delivery: DeliveryRow) => Date | undefined;

/** What `batchWaits` needs to know. `countDue` is that of the ledger. */
interface WaitParts {
  readonly sinks: readonly Pick<SinkConfig, 'name' | 'batch'>[];
  readonly now: Date;
  readonly countDue: (sink: string, now: Date, most: number) => Promise<number>;
}

/**
 * Returns the batch waits of `deliveries`. If a sink has enough due deliveries for a full batch and merely has no room for it yet, its
 * deliveries do not wait for their batch.
 */
export async function batchWaits(
  deliveries: readonly DeliveryRow[],
  { sinks, now, countDue }: WaitParts,
): Promise<BatchWait> {
  const batches = new Map(sinks.map(({ name, batch }) => [name, batch]));
  const endOf = (delivery: DeliveryRow) => {
    const batch = batches.get(delivery.sink);
    return batch && batchWaitEnd(delivery, batch, now);
  };
  const waiting = new Set(deliveries.filter((one) => endOf(one) !== undefined).map(({ sink }) => sink));
  const partial = new Set<string>();
  for (const sink of waiting) {
    const max = batches.get(sink)?.max ?? 1;
    if ((await countDue(sink, now, max)) < max) partial.add(sink);
  }
  return (delivery) => (partial.has(delivery.sink) ? endOf(delivery) : undefined);
}

/**
 * Returns the latest time until which a due delivery waits for its batch to fill. The rule is that for claims: deliveries that do not fill
 * a batch wait for `waitMs` after they were owed. Returns undefined if the delivery is in a batch, is not due, or has waited that long.
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
