import { relations } from '../../catalog/documented.ts';
import { always, type Column } from '../../catalog/relation.ts';
import { readTime } from '../../leads/content-facts.ts';
import type { Delivery } from '../../leads/delivery.ts';
import { readLead } from '../../leads/lead.ts';
import type { ParquetCell } from '../../parquet/parquet-file.ts';
import { rowOf } from '../lead-row.ts';

/** What a file cannot know: it is written once. */
const LATER = ['_leadsync_synced_at', '_leadsync_last_listed_at'];

const ofDelivery: readonly Column[] = [
  always('_leadsync_event', 'text', 'created, or updated for every further content.'),
  always('_leadsync_replay', 'boolean', 'Whether somebody asked for the lead to be sent again.'),
  always('_leadsync_delivery_id', 'text', 'The same for ever: recognise repeats by it.'),
];

/** Columns of `leads` that are younger than those of a delivery: new ones are added at the end of a file. */
const ADDED = ['_leadsync_original'];

const ofLeads = (relations.find(({ name }) => name === 'leads')?.columns ?? []).filter(
  ({ name }) => !LATER.includes(name),
);

/** The columns of the table `leads`, under the same names, and what tells deliveries apart. New ones are added at the end. */
export const columns: readonly Column[] = [
  ...ofLeads.filter(({ name }) => !ADDED.includes(name)),
  ...ofDelivery,
  ...ofLeads.filter(({ name }) => ADDED.includes(name)),
];

/** A delivery's cells, in the order of the columns. */
export function tableRow(delivery: Delivery): readonly ParquetCell[] {
  const cells: Readonly<Record<string, ParquetCell | undefined>> = {
    ...rowOf(delivery).columns,
    created_at: createdAt(delivery),
    _leadsync_event: delivery.event,
    _leadsync_replay: delivery.replay,
    _leadsync_delivery_id: delivery.id,
  };
  return columns.map(({ name }) => cells[name] ?? null);
}

/** A delivery's row as a line of JSON, its id to the last digit. */
export function previewRow(delivery: Delivery): string {
  const row = tableRow(delivery);
  const members = columns.map(({ name }, at) => {
    const cell = name === 'id' ? String(row[at]) : JSON.stringify(row[at]);
    return `${JSON.stringify(name)}:${cell}`;
  });
  return `{${members.join(',')}}\n`;
}

/** Null for what is no time; a lead that was listed has one. */
function createdAt({ raw }: Delivery): string | null {
  const ms = readTime(readLead(raw).created_at);
  return ms === null ? null : new Date(ms).toISOString();
}
