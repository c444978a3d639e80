/** The service's identifier for a lead: an exact 64-bit integer. */
export type LeadId = bigint;

/** The fields of a lead, under the service's names (section 2 of the service's API description). */
export interface Lead {
  readonly id: LeadId;
  readonly service_name: string;
  readonly service_slug: string;
  readonly created_at: string;
  readonly client_name: string;
  readonly client_email: string;
  readonly client_phone_number: string;
  readonly client_address: { readonly friendly_address: string } | null;
  readonly service_question_answers: readonly LeadAnswer[];
  readonly all_details_one_liner: string;
}

/** A client's answer to a question of the service. Slugs may repeat within a lead. */
export interface LeadAnswer {
  readonly question: string;
  readonly slug: string;
  readonly answer: string;
}

/** Maximum id of a lead: the largest integer that SQLite and PostgreSQL can store. */
export const MAX_LEAD_ID = 2n ** 63n - 1n;

/**
 * Parses the JSON text of a lead from the ledger. The id is exact even above 2^53. Does not validate the text, because the poll that recorded it did.
 * In a text that was not validated, fields may be missing.
 */
export function readLead(raw: string): Lead {
  const fields = JSON.parse(raw) as Omit<Lead, 'id'> & { id: unknown };
  fields.id = Number.isSafeInteger(fields.id) ? BigInt(fields.id as number) : readExactId(raw);
  return fields as Lead;
}

function readExactId(raw: string): LeadId {
  return BigInt(readIdText(raw) ?? '');
}

/**
 * Returns a lead's id exactly as written in its JSON text: `9223372036854775807` with every digit, and `1e3` as `1e3`. Undefined if the id
 * is not a number.
 */
export function readIdText(raw: string): string | undefined {
  let text: string | undefined;
  const written = new Map<unknown, string>();
  JSON.parse(raw, function (this: unknown, key, value, context?: { source?: string }) {
    if (key === 'id' && typeof value === 'number' && context?.source !== undefined)
      written.set(this, context.source);
    // Objects inside the lead may have ids too. The lead itself is visited last, under an empty key.
    if (key === '') text = written.get(value);
    return value;
  });
  return text;
}
