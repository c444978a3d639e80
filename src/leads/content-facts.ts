import type { Lead } from './lead.ts';
import { parseDateTime } from './parse-date-time.ts';
import { mayHoldUnstorable, safeRaw, storable } from './storable-text.ts';

/** Facts about the content of a lead, stored beside its JSON text so that queries need not parse the text. */
export interface ContentFacts {
  /** Null if the lead has no `service_slug`. */
  readonly serviceSlug: string | null;
  /** When the lead was created, in ms since 1970; null if `created_at` is unreadable. */
  readonly createdAtMs: number | null;
  /**
   * The fields that the service's API description lists, as JSON, with U+FFFD in place of NUL and lone surrogates, which databases cannot store. Null
   * if nothing had to be replaced.
   */
  readonly readable: string | null;
  /** The whole JSON text with the same replacements, for the JSON functions of databases. Null if nothing had to be replaced. */
  readonly safeRaw: string | null;
}

/** Returns the facts about a lead's JSON text, as received. A caller that has already parsed the text passes `parsed`. */
export function factsOf(raw: string, parsed: unknown = JSON.parse(raw)): ContentFacts {
  const lead = parsed as Partial<Lead>;
  const { service_slug: slug, created_at: created } = lead;
  return {
    serviceSlug: typeof slug === 'string' ? storable(slug) : null,
    createdAtMs: typeof created === 'string' ? parseDateTime(created) : null,
    readable: mayHoldUnstorable(raw) ? readable(lead) : null,
    safeRaw: safeRaw(raw),
  };
}

const DESCRIBED = [
  'service_name',
  'service_slug',
  'client_name',
  'client_email',
  'client_phone_number',
  'client_address',
  'friendly_address',
  'service_question_answers',
  'question',
  'slug',
  'answer',
  'all_details_one_liner',
];

function readable(lead: unknown): string | null {
  let replaced = false;
  const text = JSON.stringify(lead, (key, value: unknown) => {
    if (key !== '' && !/^\d+$/.test(key) && !DESCRIBED.includes(key)) return undefined;
    if (typeof value !== 'string') return value;
    const kept = storable(value);
    replaced ||= kept !== value;
    return kept;
  });
  return replaced ? text : null;
}
