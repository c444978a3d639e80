import { relations } from '../../../catalog/documented.ts';
import { mirrored, mirroredTable } from '../../../catalog/mirrored.ts';
import { commentOf, type Relation } from '../../../catalog/relation.ts';

/** Private tables, and what people are to read in their place. */
const PRIVATE = { _client_keys: 'v_clients', _sinks: 'v_sink_health', _sources: 'v_freshness' } as const;
const LEDGER = 'Which ledger the row came from.';
/** What was a table in earlier versions. */
const VIEWS: readonly string[] = ['lead_answers', 'lead_versions', 'deliveries', 'attempts'];
const KEYS: Readonly<Record<string, string>> = {
  key_no: 'Its number in the ledger.',
  source: 'With id: the lead.',
  id: 'With source: the lead.',
  created_at: 'When the lead was created.',
  client_key: 'Empty for a client without email address and phone number.',
  _leadsync_ledger: LEDGER,
};

const ERASED: Readonly<Record<string, string>> = {
  erased_no: 'Its number in the ledger.',
  source: 'With id: the lead.',
  id: 'With source: the lead.',
  erased_at: 'When it was erased from the ledger.',
  _leadsync_ledger: LEDGER,
};

const PRESENCE: Readonly<Record<string, string>> = {
  presence_no: 'Its number in the ledger.',
  source: 'With id: the lead.',
  id: 'With source: the lead.',
  last_listed_at: 'When the lead was last listed; null: it came back.',
  noted_at: 'When that was noticed.',
  _leadsync_ledger: LEDGER,
};

const ATTEMPT = mirroredTable('attempts').columns.map(({ name }) => name);

/** Private tables with their columns, by what people are to read in their place. */
const LEAN = {
  _ledgers: {
    shown: 'deliveries',
    columns: {
      ledger_no: 'Numbers the ledgers that have written here.',
      ledger: 'The name of the ledger.',
      lost: 'Whether its rows are of a ledger that was lost: the one of that name has gone another way since.',
    },
  },
  _sink_names: {
    shown: 'deliveries',
    columns: {
      sink_no: 'Numbers the sinks.',
      named: "The sink's first name, which is in the ids of its deliveries.",
      sink: "The sink's name in leadsync's configuration.",
    },
  },
  _deliveries: {
    shown: 'deliveries',
    columns: {
      ...same('deliveries', [
        ...['source', 'lead_id', 'lead_version', 'event', 'state', 'reason', 'attempts'],
        ...['owed_at', 'first_attempt_at', 'next_attempt_at', 'settled_at'],
      ]),
      no: 'Its number in the ledger; grows with time.',
      ledger_no: 'Which ledger the row came from: see _ledgers.',
      sink_no: 'The sink: see _sink_names.',
      content: 'The first 32 bits of the hash of the content.',
      replay: 'When the replay was asked for, in milliseconds since 1970; null where it is none.',
      delivered_from: 'When the attempt began that delivered it; null where that is first_attempt_at.',
      attempt_no: 'The number of the attempt that delivered it; null where none is known.',
      duration_ms: 'How long that attempt took, in milliseconds.',
      http_status: 'What a destination that speaks HTTP answered to it.',
      delivery_id: 'Names the delivery, where that cannot be made of the other columns.',
    },
  },
  _versions: {
    shown: 'lead_versions',
    columns: {
      ...same('lead_versions', [
        ...['source', 'lead_id', 'version', 'valid_from', 'valid_to'],
        ...['is_current', 'poll_id', 'changed_fields'],
      ]),
      no: 'Its number in the ledger; grows with time.',
      ledger_no: 'Which ledger the row came from: see _ledgers.',
      hash: 'Names this content of the lead: the same text, the same hash.',
    },
  },
  _contents: {
    shown: 'lead_versions',
    columns: {
      source: 'With lead_id: the lead.',
      lead_id: 'With source: the lead.',
      hash: 'Names this content of the lead: the same text, the same hash.',
      replaced: 'Whether U+FFFD stands in raw for a NUL or half a surrogate pair.',
      raw: "The JSON of a content that is not the lead's present one in leads. Personal data.",
      original: 'The JSON exactly as received, where U+FFFD was put into it. Personal data.',
    },
  },
  _attempts: { shown: 'attempts', columns: { ...same('attempts', ATTEMPT), _leadsync_ledger: LEDGER } },
} as const;

/** What a table, view or column means. */
interface Comment {
  readonly what: 'TABLE' | 'VIEW' | 'COLUMN';
  /** `table` or `table.column`. */
  readonly name: string;
  readonly text: string;
}

/** The meaning of every table, view and column, to be put where tools show it. */
export const allComments: readonly Comment[] = [
  ...relations.flatMap(ofRelation),
  ...relations
    .filter(({ name }) => mirrored.some((one) => one.name === name))
    .map(({ name }) => comment('COLUMN', `${name}._leadsync_ledger`, LEDGER)),
  ...Object.entries(PRIVATE).map(([name, shown]) => comment('TABLE', name, `Private: see ${shown}.`)),
  ...Object.entries(KEYS).map(([name, text]) => comment('COLUMN', `_client_keys.${name}`, text)),
  comment('TABLE', '_presence', 'Private: see v_gone_leads.'),
  ...Object.entries(PRESENCE).map(([name, text]) => comment('COLUMN', `_presence.${name}`, text)),
  comment('TABLE', '_erased', 'Private: see v_erased_leads.'),
  ...Object.entries(ERASED).map(([name, text]) => comment('COLUMN', `_erased.${name}`, text)),
  ...Object.entries(LEAN).flatMap(([name, { shown, columns }]) => [
    comment('TABLE', name, `Private: see ${shown}.`),
    ...Object.entries(columns).map(([column, text]) => comment('COLUMN', `${name}.${column}`, text)),
  ]),
  ...ofPresent('_sinks', PRIVATE._sinks),
  ...ofPresent('_sources', PRIVATE._sources),
];

/** All of them: one statement after another, in the schema as `search_path`. */
export const commentsSql = allComments.map(commentStatement).join(';\n');

function ofRelation(relation: Relation): Comment[] {
  const { name, kind, columns } = relation;
  return [
    comment(kind === 'view' || VIEWS.includes(name) ? 'VIEW' : 'TABLE', name, commentOf(relation)),
    ...columns.map((column) => comment('COLUMN', `${name}.${column.name}`, column.means)),
  ];
}

/** The table behind a view, whose columns mean the same. What grows with time is not in it. */
function ofPresent(table: string, view: string): Comment[] {
  const columns = relations.find(({ name }) => name === view)?.columns ?? [];
  return columns
    .filter(({ name }) => name !== 'age_seconds')
    .map(({ name, means }) => comment('COLUMN', `${table}.${name}`, means));
}

/** What columns mean that a private table has as the relation that people read. */
function same(relation: string, names: readonly string[]): Readonly<Record<string, string>> {
  const columns = relations.find(({ name }) => name === relation)?.columns ?? [];
  return Object.fromEntries(
    columns.filter(({ name }) => names.includes(name)).map(({ name, means }) => [name, means]),
  );
}

function comment(what: Comment['what'], name: string, text: string): Comment {
  return { what, name, text };
}

/** In the schema as `search_path`. */
export function commentStatement({ what, name, text }: Comment): string {
  return `COMMENT ON ${what} ${name} IS '${text.replaceAll("'", "''")}'`;
}
