import { MAX_SEARCHED_FOR_BATCH } from '../ledger/contract/ledger-queries.ts';
import { printCount } from '../platform/text/human-readable.ts';
import { isBatchWebhookId } from '../platform/text/webhook-id.ts';

/** Returns sentences for a `webhook-id` under which nothing was found: how far leadsync searched, and what to do. Undefined if it is not that of a batch. */
export function batchNotFound(webhookId: string | undefined) {
  if (webhookId === undefined || !isBatchWebhookId(webhookId)) return undefined;
  return {
    message: `None of the last ${printCount(MAX_SEARCHED_FOR_BATCH)} attempts sent a batch with this webhook-id. leadsync does not search further.`,
    hint: 'Search for the `id` of an event in the batch instead: it finds a delivery of any age. Or select the sink and the time of the request.',
  };
}
