import type { LeadKey } from '../../leads/person.ts';

/** Returns the text by which a CRM recognises a lead: `main:4711`. */
export function keyText({ source, leadId }: LeadKey): string {
  return `${source}:${leadId}`;
}

/** Returns the lead of a text in a record; undefined if the text is none of leadsync's keys. */
export function leadOfKey(text: unknown): LeadKey | undefined {
  const [, source, id] = /^(.+):(\d{1,19})$/s.exec(typeof text === 'string' ? text : '') ?? [];
  return source === undefined || id === undefined ? undefined : { source, leadId: BigInt(id) };
}
