import { hash } from 'node:crypto';

/** Returns the id of a message with several deliveries: a hash of their ids, in order. It always identifies the same leads. */
export function batchWebhookId(deliveries: readonly string[]): string {
  return `batch_${hash('sha256', deliveries.join('\n')).slice(0, 32)}`;
}

/** Whether an id has the form of `batchWebhookId`. The id of any other message is that of its delivery. */
export function isBatchWebhookId(id: string): boolean {
  return /^batch_[0-9a-f]{32}$/.test(id);
}
