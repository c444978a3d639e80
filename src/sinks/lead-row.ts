import { mayHoldUnstorable, safeRaw, storable } from '../leads/content-facts.ts';
import type { Delivery } from '../leads/delivery.ts';
import { type LeadAnswer, readLead } from '../leads/lead.ts';

/** What a delivery tells of the columns of the table `leads`. */
export type LeadColumn =
  | 'source'
  | 'id'
  | 'service_name'
  | 'service_slug'
  | 'created_at'
  | 'client_name'
  | 'client_email'
  | 'client_phone_number'
  | 'client_address'
  | 'all_details_one_liner'
  | 'service_question_answers'
  | 'answers'
  | '_leadsync_first_seen_at'
  | '_leadsync_changed_at'
  | '_leadsync_last_listed_at'
  | '_leadsync_version'
  | '_leadsync_hash'
  | '_leadsync_raw'
  | '_leadsync_replaced'
  | '_leadsync_original';

/** A lead as the table `leads` has it. */
export interface LeadRow {
  readonly columns: Readonly<Record<LeadColumn, string | number | boolean | null>>;
  readonly answers: readonly LeadAnswer[];
}

/** ISO 8601. PostgreSQL itself would take more for a time, `now` and `infinity` among it. */
const TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/i;

/** What is stored of a delivery's lead. What a lead lacks is null here, which its column then refuses. */
export function rowOf(delivery: Delivery): LeadRow {
  const lead = readLead(delivery.raw);
  const text = new StorableText(delivery.raw);
  const answers = lead.service_question_answers.map(({ question, slug, answer }) => ({
    question: text.of(question),
    slug: text.of(slug),
    answer: text.of(answer),
  }));
  const safe = safeRaw(delivery.raw);
  const columns = {
    source: delivery.source,
    id: String(delivery.leadId),
    service_name: text.of(lead.service_name),
    service_slug: text.of(lead.service_slug),
    created_at: timeOf(lead.created_at),
    client_name: text.of(lead.client_name),
    client_email: text.of(lead.client_email),
    client_phone_number: text.of(lead.client_phone_number),
    client_address: lead.client_address && text.of(lead.client_address.friendly_address),
    all_details_one_liner: text.of(lead.all_details_one_liner),
    service_question_answers: JSON.stringify(answers),
    answers: JSON.stringify(bySlug(answers)),
    _leadsync_first_seen_at: delivery.firstSeenAt.toISOString(),
    _leadsync_changed_at: delivery.changedAt.toISOString(),
    // A delivery does not say when its lead was last listed; of this time it is certain.
    _leadsync_last_listed_at: delivery.changedAt.toISOString(),
    _leadsync_version: delivery.version,
    _leadsync_hash: delivery.hash,
    _leadsync_raw: safe ?? delivery.raw,
    _leadsync_replaced: safe !== null,
    _leadsync_original: safe === null ? null : delivery.raw,
  };
  return { columns, answers };
}

/** PostgreSQL knows no decimal comma, which ISO 8601 allows. Null for what is no time. */
function timeOf(text: string): string | null {
  return TIME.test(text) ? text.replace(',', '.') : null;
}

/** Text in databases has neither NUL nor lone surrogates: both become U+FFFD. */
class StorableText {
  readonly #mayReplace: boolean;

  /** @param raw the JSON that the texts are from */
  constructor(raw: string) {
    this.#mayReplace = mayHoldUnstorable(raw);
  }

  of(text: string): string {
    return this.#mayReplace ? storable(text) : text;
  }
}

/** `{slug: answer}`, with an array where a slug repeats. A slug may be anything, `__proto__` too. */
function bySlug(answers: readonly LeadAnswer[]): Record<string, string | string[]> {
  const grouped = Map.groupBy(answers, ({ slug }) => slug);
  return Object.fromEntries(
    [...grouped].map(([slug, [first, ...more]]) => [
      slug,
      more.length === 0 ? (first?.answer ?? '') : [first, ...more].map((given) => given?.answer ?? ''),
    ]),
  );
}
