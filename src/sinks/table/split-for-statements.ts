import type { Delivery } from '../../leads/delivery.ts';

/** Maximum length of the JSON of all leads in one transaction, in characters, because databases limit the size of a statement. */
const PART_CHARACTERS = 16_000_000;

/** Splits deliveries, in order, into parts that one statement can write. Each part is limited in size and contains each lead at most once. */
export function partsOf(deliveries: readonly Delivery[]): Delivery[][] {
  const parts: Delivery[][] = [];
  const leads = new Set<string>();
  let part: Delivery[] = [];
  let characters = 0;
  for (const delivery of deliveries) {
    const { source, leadId, raw } = delivery;
    const lead = `${source} ${leadId}`;
    if (part.length === 0 || leads.has(lead) || characters + raw.length > PART_CHARACTERS) {
      part = [];
      parts.push(part);
      leads.clear();
      characters = 0;
    }
    part.push(delivery);
    leads.add(lead);
    characters += raw.length;
  }
  return parts;
}
