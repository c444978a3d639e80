import { batchWebhookId } from '../../../platform/text/webhook-id.ts';

/** An attempt of a delivery in a batch. `startedAt` is in ms since 1970. */
export interface BatchAttempt {
  readonly batch: number;
  readonly startedAt: number;
  readonly no: number;
  /** The id of the delivery. */
  readonly delivery: string;
}

/** Returns the ids of the deliveries that were sent together under a webhook-id; empty if none of the attempts sent them. */
export function sentUnder(webhookId: string, attempts: readonly BatchAttempt[]): readonly string[] {
  const batches = Map.groupBy(attempts, ({ batch, startedAt }) => `${batch} ${startedAt}`);
  for (const batch of batches.values()) {
    const ids = batch.toSorted((one, other) => one.no - other.no).map(({ delivery }) => delivery);
    if (batchWebhookId(ids) === webhookId) return ids;
  }
  return [];
}
