import { stringify } from 'csv-stringify/sync';
import type { Delivery } from '../../leads/delivery.ts';
import { type Lead, type LeadAnswer, readLead } from '../../leads/lead.ts';

/** Every column, in order, and what is in it. New columns are added at the end. */
const columns: Readonly<Record<string, (lead: Lead, delivery: Delivery) => string | undefined>> = {
  id: (_, delivery) => String(delivery.leadId),
  service_name: (lead) => lead.service_name,
  service_slug: (lead) => lead.service_slug,
  created_at: (lead) => lead.created_at,
  client_name: (lead) => lead.client_name,
  client_email: (lead) => lead.client_email,
  client_phone_number: (lead) => lead.client_phone_number,
  client_address: (lead) => lead.client_address?.friendly_address,
  service_question_answers: (lead) => JSON.stringify(lead.service_question_answers.map(described)),
  all_details_one_liner: (lead) => lead.all_details_one_liner,
  _leadsync_source: (_, delivery) => delivery.source,
  _leadsync_first_seen_at: (_, delivery) => delivery.firstSeenAt.toISOString(),
  _leadsync_delivery_id: (_, delivery) => delivery.id,
};

/** How a cell's text is made safe for those who open the file. */
export type MakeSafe = (cell: string) => string;

/** A complete CSV file (RFC 4180) in UTF-8: the header, and a row per delivery. */
export function csvFile(
  deliveries: readonly Delivery[],
  { makeSafe, bom }: { makeSafe: MakeSafe; bom: boolean },
): Buffer {
  const records = deliveries.map((delivery) => recordOf(delivery, makeSafe));
  // Record by record: together they may be more than one string can hold.
  const lines = [Object.keys(columns), ...records].map((record) => Buffer.from(line(record)));
  return Buffer.concat(bom ? [Buffer.from('\ufeff'), ...lines] : lines);
}

function recordOf(delivery: Delivery, makeSafe: MakeSafe): string[] {
  const lead = readLead(delivery.raw);
  return Object.values(columns).map((cell) => makeSafe(storable(cell(lead, delivery) ?? '')));
}

/** An answer as the service describes it: what else it has could not be given back exactly (numbers above 2^53). */
function described({ question, slug, answer }: LeadAnswer): LeadAnswer {
  return { question, slug, answer };
}

/** A NUL ends the text for many readers, and a lone surrogate has no form in UTF-8: both become U+FFFD. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** Alone, a line feed or a carriage return would end the record for many readers, and the others for some. */
const LINE_ENDS = /[\r\n\v\f\u0085\u2028\u2029]/;

function line(record: readonly string[]): string {
  return stringify([record], { record_delimiter: '\r\n', quoted_match: LINE_ENDS });
}
