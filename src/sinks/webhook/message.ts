import type { Batch, Delivery } from '../../leads/delivery.ts';
import { batchWebhookId } from '../../platform/text/webhook-id.ts';
import { eventFields } from '../lead-event.ts';

/** The content of a request. It is the same for every attempt, so that a receiver can recognise a repeat by its id. */
export interface Message {
  readonly id: string;
  readonly body: string;
}

/** Returns the message for deliveries of a batch. If `batched`, even one delivery is sent as a batch. */
export function messageOf(batch: Batch, deliveries: readonly Delivery[], batched: boolean): Message {
  const [first] = deliveries;
  return first && !batched ? singleMessage(first) : batchMessage(batch, deliveries);
}

/** Returns the message for one delivery, under the delivery's id. */
function singleMessage(delivery: Delivery): Message {
  return { id: delivery.id, body: `{${eventFields(delivery)}}` };
}

/** Returns a test event, of a type that no lead has. Never a batch, even for a sink that sends batches. */
export function testMessage(delivery: Delivery): Message {
  return { id: delivery.id, body: `{${eventFields(delivery, { kind: 'test' })}}` };
}

/**
 * Returns one message for several deliveries. The message's id depends on the deliveries' ids alone, so it always identifies the same leads.
 * The batch's number does not: with a new ledger it starts from 1 again, and a receiver would mistake new leads for repeats.
 */
function batchMessage(batch: Batch, deliveries: readonly Delivery[]): Message {
  const ids = deliveries.map((delivery) => delivery.id);
  const events = deliveries.map(
    (delivery) => `{"id":${JSON.stringify(delivery.id)},${eventFields(delivery)}}`,
  );
  return {
    id: batchWebhookId(ids),
    body: `{"type":"lead.batch","timestamp":"${batch.createdAt.toISOString()}","events":[${events.join(',')}]}`,
  };
}
