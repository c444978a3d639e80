import { always, type Column, maybe } from './relation.ts';
import { tables } from './tables.ts';

/** A table of the ledger that the mirror copies to another store, row by row, in the order of the row numbers. */
export interface Mirrored {
  readonly name: string;
  /** The column with the row numbers, which increase with time. Rows with a number above the checkpoint are new. */
  readonly number: string;
  /** The columns that identify a row permanently, even if a new ledger counts from 1 again. */
  readonly key: readonly string[];
  /**
   * Columns that never change. If a row in the other store has the same number but other values in these columns, the ledger was rolled
   * back after that row was copied.
   */
  readonly fixed: readonly string[];
  readonly columns: readonly Column[];
  /**
   * Whether the rows are computed from other rows. If so, the mirror deletes rows that the ledger lost in a rollback, instead of keeping
   * them.
   */
  readonly derived?: true;
  /** Whether the ledger returns times in ms since 1970 instead of ISO 8601, to save formatting and parsing. */
  readonly timesInMs?: true;
  /**
   * Whether only a few rows may still change at any time (see `Mirror.unsettled`), so that a long round of the mirror can copy them again
   * in every pass.
   */
  readonly fewUnsettled?: true;
}

/** The columns of a version that contain its content. */
const CONTENT: readonly string[] = ['raw', '_leadsync_replaced', '_leadsync_original'];

/** The contents of versions, numbered like the versions. */
export const leadContents: Mirrored = {
  name: 'lead_contents',
  number: '_leadsync_no',
  key: ['source', 'lead_id', '_leadsync_hash'],
  fixed: [],
  columns: table('lead_versions').columns.filter(({ name }) =>
    ['source', 'lead_id', '_leadsync_hash', ...CONTENT].includes(name),
  ),
};

/** The mirrored tables, in the order in which a round copies them. */
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
    // Without the columns of the content, which the mirror copies only if the other store does not have that content.
    ...table('lead_versions'),
    number: '_leadsync_no',
    fixed: ['source', 'lead_id', 'version', 'valid_from', '_leadsync_hash'],
    columns: table('lead_versions').columns.filter(({ name }) => !CONTENT.includes(name)),
    timesInMs: true,
  },
  {
    // Only failed attempts, because a delivery contains the attempt that delivered it.
    ...table('attempts'),
    number: '_leadsync_no',
    fixed: ['delivery_id', 'started_at'],
  },
  {
    ...table('deliveries'),
    number: '_leadsync_no',
    fixed: ['source', 'lead_id', 'owed_at'],
    // Has the parts of the id instead of the id, and the attempt that delivered the lead.
    columns: [
      ...table('deliveries').columns.filter(({ name }) => !['delivery_id', 'replay'].includes(name)),
      always('named', 'text', ''),
      always('content', 'text', ''),
      maybe('replay', 'bigint', ''),
      maybe('reissued', 'integer', ''),
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
    // Last, so that the mirror also erases what it copied earlier in the same round, before the lead was erased.
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
