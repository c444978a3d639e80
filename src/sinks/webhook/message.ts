import { hash } from 'node:crypto';
import type { Batch, Delivery } from '../../leads/delivery.ts';

/** What is posted. Both are the same over every attempt: receivers know a repeat by the id. */
export interface Message {
  readonly id: string;
  readonly body: string;
}

/** Some of a batch's leads as one message; `batched` says whether this sink speaks in batches, be they of one lead. */
export function messageOf(batch: Batch, deliveries: readonly Delivery[], batched: boolean): Message {
  const [first] = deliveries;
  return first && !batched ? singleMessage(first) : batchMessage(batch, deliveries);
}

/** One lead as a message of its own, under its delivery's id. */
function singleMessage(delivery: Delivery): Message {
  return { id: delivery.id, body: `{${eventFields(delivery)}}` };
}

/** A test event, under a type that no lead has. It stands alone, also for a sink that speaks in batches. */
export function testMessage(delivery: Delivery): Message {
  return { id: delivery.id, body: `{${eventFields(delivery, 'test')}}` };
}

/**
 * Several leads as one message. Its id is made of theirs, and so names the same leads for ever; a batch's own number
 * would begin anew with a new ledger, and a receiver would take new leads for known ones.
 */
function batchMessage(batch: Batch, deliveries: readonly Delivery[]): Message {
  const ids = deliveries.map((delivery) => delivery.id);
  const events = deliveries.map(
    (delivery) => `{"id":${JSON.stringify(delivery.id)},${eventFields(delivery)}}`,
  );
  return {
    id: `batch_${hash('sha256', ids.join('\n')).slice(0, 32)}`,
    body: `{"type":"lead.batch","timestamp":"${batch.createdAt.toISOString()}","events":[${events.join(',')}]}`,
  };
}

/** The lead's own text goes in as it was received, to the last digit: it was checked to be JSON when it was listed. */
function eventFields(delivery: Delivery, type: string = delivery.event): string {
  const { event, firstSeenAt, changedAt, raw, source, replay } = delivery;
  const at = event === 'created' ? firstSeenAt : changedAt;
  return `"type":"lead.${type}","timestamp":"${at.toISOString()}","data":${raw},"source":${JSON.stringify(source)},"replay":${replay}`;
}
