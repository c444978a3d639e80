import { relations } from '../../catalog/catalog.ts';
import { always, type Column, maybe } from '../../catalog/relation.ts';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import { readLead } from '../../leads/lead.ts';
import { type MappedColumn, type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import { parseDateTime } from '../../leads/parse-date-time.ts';
import { storable } from '../../leads/storable-text.ts';
import type { ParquetCell } from '../../parquet/parquet-file.ts';
import { rowOf } from '../table/lead-row.ts';
import { AS_RECEIVED, isMixed } from '../table/mapped-columns.ts';

/** Columns whose values change after the delivery. Files omit them, because a file is written only once. */
const LATER = ['_leadsync_synced_at', '_leadsync_last_listed_at'];

const ofDelivery: readonly Column[] = [
  always('_leadsync_event', 'text', 'created, or updated for every later version.'),
  always('_leadsync_replay', 'boolean', 'Whether the delivery is a replay.'),
  always('_leadsync_delivery_id', 'text', 'Identifies the delivery for ever: recognise repeats by it.'),
];

/** Columns that were added to `leads` after the first release. They go to the end of a file. */
const ADDED = ['_leadsync_original'];

const ofLeads = (relations.find(({ name }) => name === 'leads')?.columns ?? []).filter(
  ({ name }) => !LATER.includes(name),
);

/** The columns of a file: those of the table `leads`, and those of a delivery. New columns go to the end. */
export const columnsOfLeads: readonly Column[] = [
  ...ofLeads.filter(({ name }) => !ADDED.includes(name)),
  ...ofDelivery,
  ...ofLeads.filter(({ name }) => ADDED.includes(name)),
];

/** The columns that follow the fields of a mapping. New columns go to the end. */
const behindFields: readonly Column[] = [
  always('_leadsync_lead_id', 'bigint', "The lead's id."),
  always('_leadsync_source', 'text', 'The source of the lead.'),
  always('_leadsync_first_seen_at', 'time', 'When leadsync first saw the lead in a listing.'),
  always('_leadsync_version', 'integer', 'Version number of the content, counted from 1.'),
  ...ofDelivery,
];

/** The columns of a file of mapped leads. */
export function columnsOfMapped(fields: readonly MappedColumn[], batch: Batch): readonly Column[] {
  const received = isMixed(batch)
    ? [maybe(AS_RECEIVED, 'json', 'The JSON of a lead that is not mapped.')]
    : [];
  return [...ofMapped(fields), ...received];
}

function ofMapped(fields: readonly MappedColumn[]): readonly Column[] {
  return [...fields.map(({ name, type }) => maybe(name, type, 'A field of the mapping.')), ...behindFields];
}

/** Returns the cells of a mapped delivery, in the order of `columnsOfMapped`. */
export function mappedRow(
  delivery: Delivery,
  fields: readonly MappedColumn[],
  mixed: boolean,
): readonly ParquetCell[] {
  const { leadId, source, firstSeenAt, version, event, replay, id, fields: values } = delivery;
  const first = firstSeenAt.toISOString();
  return [
    ...fields.map(({ name, type }) => mappedCell(values?.get(name) ?? null, type)),
    ...[leadId, source, first, version, event, replay, id],
    ...(mixed ? [values ? null : storable(delivery.raw)] : []),
  ];
}

function mappedCell(value: MappedValue, type: MappedColumn['type']): ParquetCell {
  if (value === null) return null;
  if (type === 'text' || type === 'json') return storable(mappedText(value));
  return typeof value === 'object' ? null : value;
}

/** Returns the cells of a delivery, in the order of `columnsOfLeads`. */
export function tableRow(delivery: Delivery): readonly ParquetCell[] {
  const cells: Readonly<Record<string, ParquetCell | undefined>> = {
    ...rowOf(delivery).columns,
    created_at: createdAt(delivery),
    _leadsync_event: delivery.event,
    _leadsync_replay: delivery.replay,
    _leadsync_delivery_id: delivery.id,
  };
  return columnsOfLeads.map(({ name }) => cells[name] ?? null);
}

/** Returns a row as a line of JSON, with every digit of its id. */
export function previewRow(row: readonly ParquetCell[], of: readonly Column[]): string {
  const members = of.map(({ name, type }, at) => {
    const cell = type === 'bigint' ? String(row[at]) : JSON.stringify(row[at]);
    return `${JSON.stringify(name)}:${cell}`;
  });
  return `{${members.join(',')}}\n`;
}

/** Returns the time in UTC; null if the text is not a time, which does not happen for a listed lead. */
function createdAt({ raw }: Delivery): string | null {
  const ms = parseDateTime(readLead(raw).created_at);
  return ms === null ? null : new Date(ms).toISOString();
}
