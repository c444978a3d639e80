import { always, type Column, maybe } from './relation.ts';
import { tables } from './tables.ts';

/** A table of the ledger that is brought to another store row by row, by the rows' numbers. */
export interface Mirrored {
  readonly name: string;
  /** The column that numbers its rows, growing with time: what has a greater one than the last that was brought is new. */
  readonly number: string;
  /** The columns that name a row for ever, also where a ledger was made anew and counts from 1 again. */
  readonly key: readonly string[];
  /** Columns that never change: where they differ from a row of the same number, that one is of a ledger that went another way. */
  readonly fixed: readonly string[];
  readonly columns: readonly Column[];
  /** Reckoned from other rows: what the ledger no longer knows of it is of no use to anybody. */
  readonly derived?: true;
  /** The ledger tells its times as ms since 1970 and not as ISO 8601: neither side has to spell and read them. */
  readonly timesInMs?: true;
  /** Few rows are unsettled at a time: a long round looks at them again and again. */
  readonly fewUnsettled?: true;
}

/** The columns of a version that are its content. */
const CONTENT: readonly string[] = ['raw', '_leadsync_replaced', '_leadsync_original'];

/** The contents of versions, by the versions' numbers. */
export const leadContents: Mirrored = {
  name: 'lead_contents',
  number: '_leadsync_no',
  key: ['source', 'lead_id', '_leadsync_hash'],
  fixed: [],
  columns: table('lead_versions').columns.filter(({ name }) =>
    ['source', 'lead_id', '_leadsync_hash', ...CONTENT].includes(name),
  ),
};

/** What is brought, in this order: what happened last is asked for first, so that nothing settles unseen in between. */
export const mirrored: readonly Mirrored[] = [
  {
    ...table('polls'),
    number: 'poll_id',
    fixed: ['source', 'started_at'],
    fewUnsettled: true,
  },
  {
    ...table('rejected_leads'),
    number: 'rejected_id',
    fixed: ['source', 'hash'],
  },
  {
    // Without its content, which is brought where the other store does not have it already.
    ...table('lead_versions'),
    number: '_leadsync_no',
    fixed: ['source', 'lead_id', 'version', 'valid_from', '_leadsync_hash'],
    columns: table('lead_versions').columns.filter(({ name }) => !CONTENT.includes(name)),
    timesInMs: true,
  },
  {
    // Those that failed: what delivered is told with its delivery.
    ...table('attempts'),
    number: '_leadsync_no',
    fixed: ['delivery_id', 'started_at'],
  },
  {
    ...table('deliveries'),
    number: '_leadsync_no',
    fixed: ['source', 'lead_id', 'owed_at'],
    // What an id is made of, in place of the id; and the attempt that delivered.
    columns: [
      ...table('deliveries').columns.filter(({ name }) => !['delivery_id', 'replay'].includes(name)),
      always('named', 'text', ''),
      always('content', 'text', ''),
      maybe('replay', 'bigint', ''),
      maybe('delivered_from', 'time', ''),
      maybe('attempt_no', 'bigint', ''),
      maybe('duration_ms', 'integer', ''),
      maybe('http_status', 'integer', ''),
    ],
    timesInMs: true,
  },
  {
    name: '_client_keys',
    number: 'key_no',
    key: ['source', 'id'],
    fixed: ['source', 'id'],
    derived: true,
    columns: [
      always('key_no', 'bigint', ''),
      always('source', 'text', ''),
      always('id', 'bigint', ''),
      maybe('created_at', 'time', ''),
      always('client_key', 'text', ''),
    ],
  },
  {
    name: '_presence',
    number: 'presence_no',
    key: ['source', 'id'],
    fixed: ['source', 'id'],
    derived: true,
    columns: [
      always('presence_no', 'bigint', ''),
      always('source', 'text', ''),
      always('id', 'bigint', ''),
      maybe('last_listed_at', 'time', ''),
      always('noted_at', 'time', ''),
    ],
  },
  {
    // The last, and by the mirror itself, so that whatever it read of a lead before that was erased is removed behind it.
    name: '_erased',
    number: 'erased_no',
    key: ['source', 'id'],
    fixed: ['source', 'id'],
    columns: [
      always('erased_no', 'bigint', ''),
      always('source', 'text', ''),
      always('id', 'bigint', ''),
      always('erased_at', 'time', ''),
    ],
  },
];

/** Returns the description of a mirrored table, or of `lead_contents`. @throws Error for any other table */
export function mirroredTable(table: string): Mirrored {
  const found = [...mirrored, leadContents].find(({ name }) => name === table);
  if (!found) throw new Error(`the table ${table} is not mirrored`);
  return found;
}

function table(name: string): Pick<Mirrored, 'name' | 'key' | 'columns'> {
  const found = tables.find((one) => one.name === name);
  if (!found) throw new Error(`there is no table ${name}`);
  return found;
}
