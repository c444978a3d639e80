import { relations } from '../../catalog/documented.ts';
import { always, type Column } from '../../catalog/relation.ts';
import { readTime } from '../../leads/content-facts.ts';
import type { Delivery } from '../../leads/delivery.ts';
import { readLead } from '../../leads/lead.ts';
import type { ParquetCell } from '../../parquet/parquet-file.ts';
import { rowOf } from '../lead-row.ts';

/** Columns whose values change after the delivery. They are left out, because a file is written only once. */
const LATER = ['_leadsync_synced_at', '_leadsync_last_listed_at'];

const ofDelivery: readonly Column[] = [
  always('_leadsync_event', 'text', 'created, or updated for every further content.'),
  always('_leadsync_replay', 'boolean', 'Whether the delivery is a replay.'),
  always('_leadsync_delivery_id', 'text', 'Identifies the delivery for ever: recognise repeats by it.'),
];

/** Columns that were added to `leads` after the first release. They go to the end of a file. */
const ADDED = ['_leadsync_original'];

const ofLeads = (relations.find(({ name }) => name === 'leads')?.columns ?? []).filter(
  ({ name }) => !LATER.includes(name),
);

/** The columns of a file: those of the table `leads`, and those of a delivery. New columns go to the end. */
export const columns: readonly Column[] = [
  ...ofLeads.filter(({ name }) => !ADDED.includes(name)),
  ...ofDelivery,
  ...ofLeads.filter(({ name }) => ADDED.includes(name)),
];

/** Returns the cells of a delivery, in the order of `columns`. */
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

/** Returns the row of a delivery as a line of JSON, with every digit of its id. */
export function previewRow(delivery: Delivery): string {
  const row = tableRow(delivery);
  const members = columns.map(({ name }, at) => {
    const cell = name === 'id' ? String(row[at]) : JSON.stringify(row[at]);
    return `${JSON.stringify(name)}:${cell}`;
  });
  return `{${members.join(',')}}\n`;
}

/** Returns the time in UTC; null if the text is not a time, which does not happen for a listed lead. */
function createdAt({ raw }: Delivery): string | null {
  const ms = readTime(readLead(raw).created_at);
  return ms === null ? null : new Date(ms).toISOString();
}
