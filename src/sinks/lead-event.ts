import type { Delivery } from '../leads/delivery.ts';
import { nestedJson } from '../leads/mapped-fields.ts';

/**
 * Returns the fields of an event as JSON without braces. `data` has the fields of the sink's mapping. Without a mapping, it is `raw`: by
 * default the lead's text as received, to the last digit; the poll has verified that it is JSON.
 */
export function eventFields(
  delivery: Delivery,
  { type = delivery.event, raw = delivery.raw }: { type?: string; raw?: string } = {},
): string {
  const { event, firstSeenAt, changedAt, fields, source, replay } = delivery;
  const data = fields ? nestedJson(fields) : raw;
  const at = event === 'created' ? firstSeenAt : changedAt;
  return `"type":"lead.${type}","timestamp":"${at.toISOString()}","data":${data},"source":${JSON.stringify(source)},"replay":${replay}`;
}
