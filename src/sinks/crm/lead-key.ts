import type { LeadKey } from '../../leads/person.ts';

/** Returns the key by which leadsync recognises a lead in a CRM: `main:4711`. */
export function keyText({ source, leadId }: LeadKey): string {
  return `${source}:${leadId}`;
}

/** Returns the lead that a key in a record identifies; undefined if the text is not one of leadsync's keys. */
export function leadOfKey(text: unknown): LeadKey | undefined {
  const [, source, id] = /^(.+):(\d{1,19})$/s.exec(typeof text === 'string' ? text : '') ?? [];
  return source === undefined || id === undefined ? undefined : { source, leadId: BigInt(id) };
}
