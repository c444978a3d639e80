import { MAX_LEAD_ID } from './lead.ts';

/** Maximum number of ids in a list. */
export const MAX_IDS = 10_000;

/** Names the two kinds of ids, with an example of each. */
export const KINDS_OF_IDS = 'a lead id such as 42, or a delivery id such as crm:main:42:1:0a1b2c3d';

/** Matches a delivery id: `sink:source:lead:version:hash`, possibly with more parts. */
const DELIVERY = /^[^\s:]+:[^\s:]+:\d{1,19}:\d{1,9}:[0-9a-f]{8}(:[a-z0-9]+)*$/;

/** Whether a text is the id of a lead, from 1 to `MAX_LEAD_ID`. */
export function isLeadId(text: string): boolean {
  return /^\d{1,19}$/.test(text) && BigInt(text) >= 1n && BigInt(text) <= MAX_LEAD_ID;
}

/** Whether a text has the form of a delivery id. */
export function isDeliveryId(text: string): boolean {
  return DELIVERY.test(text);
}
