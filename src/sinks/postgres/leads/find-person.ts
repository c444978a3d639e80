import type { ClientBase } from 'pg';
import { matchesPerson } from '../../../leads/match-person.ts';
import type { Person, Subject } from '../../../leads/person.ts';
import { quoted } from '../../../postgres/identifier.ts';

/** Maximum number of rows and bytes in one page. The last row of a page may exceed the number of bytes. */
const ROWS_AT_ONCE = 500;
const BYTES_AT_ONCE = 4_000_000;

/** A table that contains leads as received. */
interface ReceivedTable {
  readonly table: string;
  readonly id: string;
  /** SQL for the lead's JSON, with `stored` as the row. */
  readonly raw: string;
  /** The columns of the primary key, in order. */
  readonly key: readonly (readonly [column: string, type: string])[];
}

/** The tables that may contain a lead whose content the ledger no longer has, because of `retention` or because the ledger is new. */
export const receivedTables: readonly ReceivedTable[] = [
  {
    table: 'leads',
    id: 'id',
    // The fields that `matchesPerson` reads. Does not use `_lead_json`, which a schema that is not upgraded yet lacks.
    raw: `coalesce(stored._leadsync_raw, json_build_object('id', stored.id, 'client_email', stored.client_email,
      'client_phone_number', stored.client_phone_number))`,
    key: [
      ['source', 'text'],
      ['id', 'bigint'],
    ],
  },
  {
    table: '_contents',
    id: 'lead_id',
    raw: 'stored.raw',
    key: [
      ['source', 'text'],
      ['lead_id', 'bigint'],
      ['hash', 'text'],
    ],
  },
  {
    table: 'rejected_leads',
    id: 'lead_id',
    raw: 'stored.raw',
    key: [
      ['source', 'text'],
      ['hash', 'text'],
    ],
  },
];

/** What one page of a table contains about a person. */
export interface FoundPage {
  readonly found: Person;
  /** The key after which the next page begins; undefined if this page is empty, which means that there are no more rows. */
  readonly next: readonly string[] | undefined;
}

interface FoundRow {
  readonly source: string;
  readonly lead: string | null;
  readonly raw: string;
  readonly key: readonly string[];
}

/** Searches one keyset page of a table (the rows after the key `after`) for a person, by the rules that the ledger uses. */
export async function findInTable(
  client: ClientBase,
  schema: string,
  { table, id, raw, key }: ReceivedTable,
  subject: Subject,
  after: readonly string[] | undefined,
): Promise<FoundPage> {
  const order = key.map(([column]) => column).join(', ');
  const afterKey = key.map(([, type], at) => `$${at + 1}::${type}`).join(', ');
  const { rows } = await client.query<FoundRow>(
    `SELECT source, lead, raw, key FROM (
      SELECT source, ${id}::text AS lead, _leadsync_text AS raw, ARRAY[${key.map(([column]) => `${column}::text`).join(', ')}] AS key,
        row_number() OVER part AS place, sum(octet_length(_leadsync_text)) OVER part - octet_length(_leadsync_text) AS bytes_before
      FROM (SELECT stored.*, ${raw}::text AS _leadsync_text FROM ${quoted(schema)}.${table} stored
        WHERE $1::text IS NULL OR (${order}) > (${afterKey}) ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}) found
      WINDOW part AS (ORDER BY ${order})
    ) p WHERE bytes_before < ${BYTES_AT_ONCE} ORDER BY place`,
    key.map(([, type], at) => after?.[at] ?? (type === 'text' ? null : '0')),
  );
  const found = rows.filter((row) => matchesPerson(row.raw, subject));
  const ofLeads = found.flatMap(({ source, lead }) =>
    lead === null ? [] : { source, leadId: BigInt(lead) },
  );
  // Without a lead's id, the hash of the text identifies a rejected lead.
  const rejected = found.flatMap(({ source, lead, key: [, hash] }) =>
    lead === null && hash !== undefined ? { source, hash } : [],
  );
  return {
    found: { leads: ofLeads, rejected },
    next: rows.at(-1)?.key,
  };
}
