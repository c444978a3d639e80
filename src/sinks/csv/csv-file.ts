import type { Batch, Delivery } from '../../leads/delivery.ts';
import { type Lead, type LeadAnswer, readLead } from '../../leads/lead.ts';
import { mappedText } from '../../leads/mapped-fields.ts';
import { storable } from '../../leads/storable-text.ts';
import { AS_RECEIVED, isMixed, mappedColumns } from '../table/mapped-columns.ts';

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
export function csvFile(batch: Batch, { makeSafe, bom }: { makeSafe: MakeSafe; bom: boolean }): Buffer {
  const fields = mappedColumns(batch)?.map(({ name }) => name);
  const { deliveries } = batch;
  const records = fields ? mappedRecords(batch, fields, makeSafe) : recordsOf(deliveries, makeSafe);
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

/** The columns that follow the fields of a mapping. leadsync needs them to read the files back. New columns go to the end. */
const ofDelivery: Readonly<Record<string, (delivery: Delivery) => string>> = {
  _leadsync_lead_id: ({ leadId }) => String(leadId),
  _leadsync_source: ({ source }) => source,
  _leadsync_first_seen_at: ({ firstSeenAt }) => firstSeenAt.toISOString(),
  _leadsync_delivery_id: ({ id }) => id,
};

function mappedRecords(batch: Batch, fields: readonly string[], makeSafe: MakeSafe): string[][] {
  const received = isMixed(batch);
  const records = batch.deliveries.map((delivery) => [
    ...fields.map((name) => makeSafe(storable(mappedText(delivery.fields?.get(name))))),
    ...Object.values(ofDelivery).map((cell) => cell(delivery)),
    ...(received ? [delivery.fields ? '' : storable(delivery.raw)] : []),
  ]);
  return [[...fields, ...Object.keys(ofDelivery), ...(received ? [AS_RECEIVED] : [])], ...records];
}

/**
 * Returns the fields of an answer that the service describes. Omits other fields, because JSON.parse has already rounded numbers above 2^53
 * in them.
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

/** Returns the cell in quotes, with its own quotes doubled. Works byte by byte, because `replaceAll` takes seconds for megabytes of quotes. */
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
