import type { ClientBase } from 'pg';
import { matchesPerson } from '../../../leads/match-person.ts';
import type { Person, Subject } from '../../../leads/person.ts';
import { quoted } from '../sql/identifier.ts';

/** Rows of one part; fewer where they are megabytes long. */
const ROWS_AT_ONCE = 500;
const BYTES_AT_ONCE = 4_000_000;

/** A table with leads as they were received. */
interface ReceivedTable {
  readonly table: string;
  readonly id: string;
  readonly raw: string;
  /** Its key in order, each with its type. */
  readonly key: readonly (readonly [column: string, type: string])[];
}

/** Where a lead may be of which the ledger knows no more: `retention` has emptied it there, or the ledger was made anew. */
export const receivedTables: readonly ReceivedTable[] = [
  {
    table: 'leads',
    id: 'id',
    raw: '_leadsync_raw',
    key: [
      ['source', 'text'],
      ['id', 'bigint'],
    ],
  },
  {
    table: '_contents',
    id: 'lead_id',
    raw: 'raw',
    key: [
      ['source', 'text'],
      ['lead_id', 'bigint'],
      ['hash', 'text'],
    ],
  },
  {
    table: 'rejected_leads',
    id: 'lead_id',
    raw: 'raw',
    key: [
      ['source', 'text'],
      ['hash', 'text'],
    ],
  },
];

/** What a part of a table has of a person, and the key behind which the next one begins; undefined when it was the last. */
export interface FoundPage {
  readonly found: Person;
  readonly next: readonly string[] | undefined;
}

interface FoundRow {
  readonly source: string;
  readonly lead: string | null;
  readonly raw: string;
  readonly key: readonly string[];
}

/** Looks for a person in the next rows of a table behind a key, as the ledger looks for one. */
export async function findInTable(
  client: ClientBase,
  schema: string,
  { table, id, raw, key }: ReceivedTable,
  subject: Subject,
  after: readonly string[] | undefined,
): Promise<FoundPage> {
  const order = key.map(([column]) => column).join(', ');
  const behind = key.map(([, type], at) => `$${at + 1}::${type}`).join(', ');
  const { rows } = await client.query<FoundRow>(
    `SELECT source, lead, raw, key FROM (
      SELECT source, ${id}::text AS lead, ${raw}::text AS raw, ARRAY[${key.map(([column]) => `${column}::text`).join(', ')}] AS key,
        row_number() OVER part AS place, sum(octet_length(${raw}::text)) OVER part - octet_length(${raw}::text) AS bytes_before
      FROM (SELECT * FROM ${quoted(schema)}.${table} WHERE $1::text IS NULL OR (${order}) > (${behind})
        ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}) t
      WINDOW part AS (ORDER BY ${order})
    ) p WHERE bytes_before < ${BYTES_AT_ONCE} ORDER BY place`,
    key.map(([, type], at) => after?.[at] ?? (type === 'text' ? null : '0')),
  );
  const found = rows.filter((row) => matchesPerson(row.raw, subject));
  const ofLeads = found.flatMap(({ source, lead }) =>
    lead === null ? [] : { source, leadId: BigInt(lead) },
  );
  // What has no lead's id is known by its text alone.
  const rejected = found.flatMap(({ source, lead, key: [, hash] }) =>
    lead === null && hash !== undefined ? { source, hash } : [],
  );
  return {
    found: { leads: ofLeads, rejected },
    next: rows.at(-1)?.key,
  };
}
