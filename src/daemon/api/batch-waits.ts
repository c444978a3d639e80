import type { DeliveryRow } from '../../ledger/contract/status-rows.ts';
import type { QueryWorker } from '../../ledger/queries/query-worker.ts';
import { batchWaitEnd } from '../../status/batch-wait.ts';
import type { Parts } from '../start/compose.ts';

/**
 * Returns a function that returns until when one of `deliveries` waits at most for its batch to fill; undefined if it does not wait for that, for
 * example because the sink has enough due deliveries for a full batch and only no room for it yet. `query` asks the query thread.
 */
export async function batchWaits(
  deliveries: readonly DeliveryRow[],
  { parts }: { readonly parts: Pick<Parts, 'current' | 'clock'> },
  query: QueryWorker['ask'],
): Promise<(delivery: DeliveryRow) => Date | undefined> {
  const now = parts.clock.now();
  const batches = new Map(parts.current.config.sinks.map(({ name, batch }) => [name, batch]));
  const endOf = (delivery: DeliveryRow) => {
    const batch = batches.get(delivery.sink);
    return batch && batchWaitEnd(delivery, batch, now);
  };
  const sinks = new Set(deliveries.filter((one) => endOf(one) !== undefined).map(({ sink }) => sink));
  const partial = new Set<string>();
  for (const sink of sinks) {
    const max = batches.get(sink)?.max ?? 1;
    if ((await query('countDue', sink, now, max)) < max) partial.add(sink);
  }
  return (delivery) => (partial.has(delivery.sink) ? endOf(delivery) : undefined);
}
