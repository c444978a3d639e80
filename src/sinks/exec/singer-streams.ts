import { relations } from '../../catalog/catalog.ts';
import { always, type Column, maybe } from '../../catalog/relation.ts';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import { readLead } from '../../leads/lead.ts';
import { type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import { parseDateTime } from '../../leads/parse-date-time.ts';
import { storable } from '../../leads/storable-text.ts';
import { rowOf } from '../table/lead-row.ts';
import { AS_RECEIVED, isMixed, mappedColumns } from '../table/mapped-columns.ts';

/** A value of a record. Whole numbers that may exceed 2^53 are a bigint. */
export type Cell = string | number | bigint | boolean | null;

/** A stream of records, from which a Singer target makes a table. */
export interface Stream {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Names of the columns by which a target recognises a repeat. */
  readonly key: readonly string[];
  /** Returns the records of a delivery, with a cell for each column. */
  records(delivery: Delivery): readonly (readonly Cell[])[];
}

/** Columns of `leads` whose values change after the delivery. */
const LATER = ['_leadsync_synced_at', '_leadsync_last_listed_at'];
const DELIVERY_ID = always('_leadsync_delivery_id', 'text', 'Identifies the delivery for ever.');

const leadColumns = [...columnsOf('leads').filter(({ name }) => !LATER.includes(name)), DELIVERY_ID];
const answerColumns = columnsOf('lead_answers');

/** The columns that follow the fields of a mapping. */
const behindFields: readonly Column[] = [
  always('_leadsync_source', 'text', 'The source of the lead.'),
  always('_leadsync_lead_id', 'bigint', "The lead's id."),
  always('_leadsync_version', 'integer', 'Version number of the content, counted from 1.'),
  always('_leadsync_first_seen_at', 'time', 'When leadsync first saw the lead in a listing.'),
  DELIVERY_ID,
];

/** Returns the streams of a batch: `leads` with the fields of its mapping, or `leads` and `lead_answers` as in the synced store. */
export function streamsOf(batch: Batch): readonly Stream[] {
  const fields = mappedColumns(batch);
  if (!fields) return [leads, leadAnswers];
  const received = isMixed(batch)
    ? [maybe(AS_RECEIVED, 'json', 'The JSON of a lead that is not mapped.')]
    : [];
  return [
    {
      name: 'leads',
      columns: [
        ...fields.map(({ name, type }) => maybe(name, type, 'A field of the mapping.')),
        ...behindFields,
        ...received,
      ],
      key: ['_leadsync_source', '_leadsync_lead_id'],
      records: (delivery) => [
        [
          ...fields.map(({ name, type }) => mappedCell(delivery.fields?.get(name) ?? null, type)),
          ...[delivery.source, delivery.leadId, delivery.version],
          ...[delivery.firstSeenAt.toISOString(), delivery.id],
          ...(received.length > 0 ? [delivery.fields ? null : storable(delivery.raw)] : []),
        ],
      ],
    },
  ];
}

const leads: Stream = {
  name: 'leads',
  columns: leadColumns,
  key: ['source', 'id'],
  records: (delivery) => {
    const cells: Readonly<Record<string, Cell | undefined>> = {
      ...rowOf(delivery).columns,
      id: delivery.leadId,
      created_at: createdAt(delivery),
      _leadsync_delivery_id: delivery.id,
    };
    return [leadColumns.map(({ name }) => cells[name] ?? null)];
  },
};

const leadAnswers: Stream = {
  name: 'lead_answers',
  columns: answerColumns,
  key: ['source', 'lead_id', 'position'],
  records: (delivery) =>
    rowOf(delivery).answers.map(({ question, slug, answer }, position) => {
      const cells: Readonly<Record<string, Cell>> = {
        source: delivery.source,
        lead_id: delivery.leadId,
        position,
        question,
        slug,
        answer,
      };
      return answerColumns.map(({ name }) => cells[name] ?? null);
    }),
};

function columnsOf(relation: string): readonly Column[] {
  return relations.find(({ name }) => name === relation)?.columns ?? [];
}

function mappedCell(value: MappedValue, type: Column['type']): Cell {
  if (value === null) return null;
  if (type === 'text' || type === 'json') return storable(mappedText(value));
  return typeof value === 'object' ? null : value;
}

/** Range of times that have a four-digit year (RFC 3339, section 5.6), in ms since 1970. */
const [EARLIEST_MS, LATEST_MS] = ['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'].map(Date.parse);

/** Returns the lead's `created_at` in UTC; null if it is not a time, or if its year is outside the range of JSON Schema's `date-time`. */
function createdAt({ raw }: Delivery): string | null {
  const ms = parseDateTime(readLead(raw).created_at);
  if (ms === null || ms < (EARLIEST_MS ?? 0) || ms > (LATEST_MS ?? 0)) return null;
  return new Date(ms).toISOString();
}
