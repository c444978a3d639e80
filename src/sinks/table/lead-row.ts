import type { Delivery } from '../../leads/delivery.ts';
import { type Lead, type LeadAnswer, readLead } from '../../leads/lead.ts';
import { mayHoldUnstorable, safeRaw, storable } from '../../leads/storable-text.ts';

/** A column of the table `leads` whose value comes from a delivery. */
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

/** A lead as a row of the table `leads`. */
export interface LeadRow {
  readonly columns: Readonly<Record<LeadColumn, string | number | boolean | null>>;
  readonly answers: readonly LeadAnswer[];
  /** Whether the columns other than `_leadsync_raw` contain everything in the lead, so that its JSON can be rebuilt from them. */
  readonly isWhole: boolean;
}

const FIELDS = [
  'id',
  'service_name',
  'service_slug',
  'created_at',
  'client_name',
  'client_email',
  'client_phone_number',
  'client_address',
  'service_question_answers',
  'all_details_one_liner',
];
const FIELDS_OF_ANSWER = 3;
/** A time that PostgreSQL stores exactly, and that can be formatted again exactly as received. */
const PLAIN_TIME = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{3}Z$/;

/** A time in ISO 8601. PostgreSQL would also accept `now`, `infinity` and other words. */
const TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/i;

/** Returns the row to store for a delivery. A `created_at` that is not a time becomes null, which the column then refuses. */
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
    // A delivery does not say when its lead was last listed. The lead was listed at this time, and maybe later.
    _leadsync_last_listed_at: delivery.changedAt.toISOString(),
    _leadsync_version: delivery.version,
    _leadsync_hash: delivery.hash,
    _leadsync_raw: safe ?? delivery.raw,
    _leadsync_replaced: safe !== null,
    _leadsync_original: safe === null ? null : delivery.raw,
  };
  return { columns, answers, isWhole: safe === null && hasOnlyColumns(lead) };
}

function hasOnlyColumns(lead: Lead): boolean {
  const { client_address: address, service_question_answers: answers } = lead;
  return (
    Object.keys(lead).length === FIELDS.length &&
    FIELDS.every((name) => Object.hasOwn(lead, name)) &&
    (address === null || Object.keys(address).length === 1) &&
    answers.every((answer) => Object.keys(answer).length === FIELDS_OF_ANSWER) &&
    PLAIN_TIME.test(lead.created_at)
  );
}

/**
 * Returns the time with a decimal point instead of a comma, which ISO 8601 allows and PostgreSQL does not. Returns null if the text is not a
 * time.
 */
function timeOf(text: string): string | null {
  return TIME.test(text) ? text.replace(',', '.') : null;
}

/** Replaces NUL and lone surrogates with U+FFFD, because databases cannot store them. */
class StorableText {
  readonly #mayReplace: boolean;

  /** @param raw the JSON that contains the texts */
  constructor(raw: string) {
    this.#mayReplace = mayHoldUnstorable(raw);
  }

  of(text: string): string {
    return this.#mayReplace ? storable(text) : text;
  }
}

/** Returns `{slug: answer}`, with an array for a repeated slug. `fromEntries` is safe for the slug `__proto__`. */
function bySlug(answers: readonly LeadAnswer[]): Record<string, string | string[]> {
  const grouped = Map.groupBy(answers, ({ slug }) => slug);
  return Object.fromEntries(
    [...grouped].map(([slug, [first, ...more]]) => [
      slug,
      more.length === 0 ? (first?.answer ?? '') : [first, ...more].map((given) => given?.answer ?? ''),
    ]),
  );
}
