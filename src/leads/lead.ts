/** A lead's identifier as the service gives it: a 64-bit integer, exact. */
export type LeadId = bigint;

/** The fields of a lead, named as the service names them (service description, section 2). */
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

/** What the client answered to a question of the service; slugs may repeat within a lead. */
export interface LeadAnswer {
  readonly question: string;
  readonly slug: string;
  readonly answer: string;
}

/** The largest id a lead can have: SQLite's and PostgreSQL's 64-bit integers end here. */
export const MAX_LEAD_ID = 2n ** 63n - 1n;

/**
 * Reads a lead from the raw JSON text that the ledger keeps, exact for ids above 2^53.
 * The text was validated when it was listed; text that was not gives a lead with missing fields.
 */
export function readLead(raw: string): Lead {
  const fields = JSON.parse(raw) as Omit<Lead, 'id'> & { id: number };
  return { ...fields, id: Number.isSafeInteger(fields.id) ? BigInt(fields.id) : readExactId(raw) };
}

function readExactId(raw: string): LeadId {
  return BigInt(readIdText(raw) ?? '');
}

/**
 * The lead's id as it is written in its JSON text: all digits of `9223372036854775807`, and `1e3` as `1e3`.
 * Undefined when the lead has no number as its id.
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
