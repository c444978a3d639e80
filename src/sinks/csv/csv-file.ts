import { storable } from '../../leads/content-facts.ts';
import type { Delivery } from '../../leads/delivery.ts';
import { type Lead, type LeadAnswer, readLead } from '../../leads/lead.ts';
import { type MappedValue, mappedJson } from '../../leads/mapped-fields.ts';

/** The cell of each column, in order. New columns go to the end. */
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

/** Returns the text of a cell in a form that is safe to open in a spreadsheet. */
export type MakeSafe = (cell: string) => string;

/** Returns a complete CSV file (RFC 4180) in UTF-8: the header, and one row per delivery. */
export function csvFile(
  deliveries: readonly Delivery[],
  { makeSafe, bom }: { makeSafe: MakeSafe; bom: boolean },
): Buffer {
  const isMapped = deliveries.some(({ fields }) => fields !== undefined);
  const records = isMapped ? mappedRecords(deliveries, makeSafe) : recordsOf(deliveries, makeSafe);
  // Record by record, because all records together may exceed the maximum length of a string.
  const lines = records.flatMap(line);
  return Buffer.concat(bom ? [Buffer.from('\ufeff'), ...lines] : lines);
}

function recordsOf(deliveries: readonly Delivery[], makeSafe: MakeSafe): string[][] {
  const records = deliveries.map((delivery) => {
    const lead = readLead(delivery.raw);
    return Object.values(columns).map((cell) => makeSafe(storable(cell(lead, delivery) ?? '')));
  });
  return [Object.keys(columns), ...records];
}

/** The columns behind the fields of a mapping, by which the files can be read back. New columns go to the end. */
const ofDelivery: Readonly<Record<string, (delivery: Delivery) => string>> = {
  _leadsync_lead_id: ({ leadId }) => String(leadId),
  _leadsync_source: ({ source }) => source,
  _leadsync_first_seen_at: ({ firstSeenAt }) => firstSeenAt.toISOString(),
  _leadsync_delivery_id: ({ id }) => id,
};

/**
 * Returns the records of mapped leads, in the columns of every mapping that occurs: after a change of the mapping, a file may have leads of
 * both.
 */
function mappedRecords(deliveries: readonly Delivery[], makeSafe: MakeSafe): string[][] {
  const names = [...new Set(deliveries.flatMap(({ fields }) => [...(fields?.keys() ?? [])]))];
  const records = deliveries.map((delivery) => [
    ...names.map((name) => makeSafe(storable(cellOf(delivery.fields?.get(name))))),
    ...Object.values(ofDelivery).map((cell) => cell(delivery)),
  ]);
  return [[...names, ...Object.keys(ofDelivery)], ...records];
}

/** Returns the cell for a mapped value: empty for null, and JSON for a list or map. */
function cellOf(value: MappedValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : mappedJson(value);
}

/**
 * Returns the fields of an answer that the service describes. Other fields are left out: JSON.parse has already rounded numbers above 2^53.
 */
function described({ question, slug, answer }: LeadAnswer): LeadAnswer {
  return { question, slug, answer };
}

const [COMMA, LINE_END, QUOTE] = [Buffer.from(','), Buffer.from('\r\n'), 0x22];
/** Cells that need quotes: by RFC 4180, or because some readers would break or trim them. */
const UNSAFE = /[",\r\n\v\f\u0085\u2028\u2029]|^\s|\s$/;

/** Returns a record (RFC 4180, section 2) in pieces. */
function line(record: readonly string[]): Buffer[] {
  const cells = record.map((cell) => (UNSAFE.test(cell) ? quoted(Buffer.from(cell)) : Buffer.from(cell)));
  return cells.flatMap((cell, at) => [cell, at === cells.length - 1 ? LINE_END : COMMA]);
}

/** Returns the cell in quotes, with its own quotes doubled. Byte by byte: `replaceAll` takes seconds for megabytes of quotes. */
function quoted(cell: Buffer): Buffer {
  let quotes = 0;
  for (let at = 0; at < cell.length; at++) if (cell[at] === QUOTE) quotes++;
  const whole = Buffer.alloc(cell.length + quotes + 2, QUOTE);
  for (let at = 0, end = 1; at < cell.length; at++) {
    whole[end] = cell[at] ?? 0;
    end += cell[at] === QUOTE ? 2 : 1;
  }
  return whole;
}
