import type { Delivery } from '../leads/delivery.ts';
import { nestedJson } from '../leads/mapped-fields.ts';

/** What an event reports: what happened to the lead, or `test` for the test lead. */
export type EventKind = Delivery['event'] | 'test';

/** Returns the type of an event, as receivers see it: `lead.created`. */
export function eventType(kind: EventKind): string {
  return `lead.${kind}`;
}

/**
 * Returns the fields of an event as JSON without braces. `data` contains the fields of the sink's mapping. Without a mapping, `data` is `raw`: by
 * default the lead's text exactly as received, which the poll has verified to be JSON.
 */
export function eventFields(
  delivery: Delivery,
  { kind = delivery.event, raw = delivery.raw }: { kind?: EventKind; raw?: string } = {},
): string {
  const { event, firstSeenAt, changedAt, fields, source, replay } = delivery;
  const data = fields ? nestedJson(fields) : raw;
  const at = event === 'created' ? firstSeenAt : changedAt;
  return `"type":"${eventType(kind)}","timestamp":"${at.toISOString()}","data":${data},"source":${JSON.stringify(source)},"replay":${replay}`;
}
