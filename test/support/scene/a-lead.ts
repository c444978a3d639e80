import { hash } from 'node:crypto';
import { factsOf } from '../../../src/leads/content-facts.ts';
import type { LeadId } from '../../../src/leads/lead.ts';
import type { ListedBlock, ListedItem, ListedLead } from '../../../src/leads/listed-lead.ts';

/** Builds a lead as the service sends it, with the test's overrides. Pass an `id` above 2^53 as a bigint. */
export function aLead({
  id = 42,
  ...fields
}: Record<string, unknown> & { id?: number | bigint } = {}): string {
  const rest = JSON.stringify({
    service_name: 'House Cleaning',
    service_slug: 'house-cleaning',
    created_at: '2026-11-20T09:59:30.000Z',
    client_name: 'Anna Müller',
    client_email: 'anna.mueller@example.com',
    client_phone_number: '+49 151 23456789',
    client_address: { friendly_address: 'Footscray, VIC, 3011' },
    service_question_answers: [
      { question: 'How many bedrooms are there?', slug: 'bedrooms', answer: '3' },
      { question: 'Anything else?', slug: 'anything_else', answer: 'Two cats,\none "dog"' },
    ],
    all_details_one_liner:
      'How many bedrooms are there?\n3\nAnything else?\nTwo cats,\none "dog"\n--\nAddress: Footscray, VIC, 3011\n',
    ...fields,
  });
  return `{"id":${id},${rest.slice(1)}`;
}

/** Builds the same lead as an item of a parsed listing. */
export function aListedLead(
  fields: Record<string, unknown> & { id?: number | bigint } = {},
  position = 0,
): ListedLead {
  return listedAs(BigInt(fields.id ?? 42), aLead(fields), position);
}

/** Builds an item of a parsed listing from exactly this text. */
export function listedAs(id: LeadId, raw: string, position = 0): ListedLead {
  return { kind: 'lead', position, id, raw, hash: hashOf(raw), facts: factsOf(raw) };
}

/** Builds a block of a listing from these items. @param hash the block's hash; undefined if leadsync cannot recognise the block */
export function blockOf(items: readonly ListedItem[], hash?: string): ListedBlock {
  const elements = items.map((item) => ({
    position: item.position,
    id: item.id,
    hash: item.hash,
    read: () => item,
  }));
  return { hash, size: items.length, isRecognised: false, elements: () => elements };
}

/** Returns a lead's hash, computed as the listing parser does. */
export function hashOf(raw: string): string {
  return hash('sha256', raw).slice(0, 32);
}
