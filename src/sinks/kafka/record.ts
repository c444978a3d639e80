import type { Delivery } from '../../leads/delivery.ts';
import { type EventKind, eventFields, eventType } from '../lead-event.ts';

/** A Kafka record. It is the same for every attempt, except for the header `traceparent`. */
export interface KafkaRecord {
  /** `main:4711`. Records with the same key are in the same partition, in the order in which they were written. */
  readonly key: Buffer;
  /** The event as JSON. Null for a tombstone. */
  readonly value: Buffer | null;
  readonly headers: ReadonlyMap<string, string>;
  /** Approximate number of bytes that the record takes in a request, uncompressed. */
  readonly bytes: number;
}

/** Maximum number of bytes that a record takes besides its key, value and headers: for lengths, and for time and offset deltas. */
const FRAME_BYTES = 64;

/** How to make a record from a delivery. */
interface RecordForm {
  /** Whether an `erased` event has no value. */
  readonly tombstones: boolean;
  readonly traceparent?: string | undefined;
  readonly kind?: EventKind;
}

/** Returns the record for a delivery. */
export function recordOf(delivery: Delivery, form: RecordForm): KafkaRecord {
  const { id, source, leadId, event } = delivery;
  const { kind = event, tombstones, traceparent } = form;
  const key = Buffer.from(`${source}:${leadId}`);
  const value = tombstones && kind === 'erased' ? null : Buffer.from(`{${eventFields(delivery, { kind })}}`);
  const headers = new Map([
    ['webhook-id', id],
    ['type', eventType(kind)],
    ...(traceparent === undefined ? [] : [['traceparent', traceparent] as const]),
  ]);
  const ofHeaders = [...headers].flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return { key, value, headers, bytes: FRAME_BYTES + key.length + (value?.length ?? 0) + ofHeaders };
}

/** Divides items into parts of up to `max` bytes, in order. An item that is larger is a part of its own. */
export function partsOf<Item extends { readonly record: KafkaRecord }>(
  items: readonly Item[],
  max: number,
): readonly (readonly Item[])[] {
  const parts: Item[][] = [];
  let left = 0;
  for (const item of items) {
    const { bytes } = item.record;
    const part = parts.at(-1);
    if (part && bytes <= left) part.push(item);
    else parts.push([item]);
    left = (part && bytes <= left ? left : max) - bytes;
  }
  return parts;
}
