import { relations } from '../../../catalog/catalog.ts';
import { mirrored, mirroredTable } from '../../../catalog/mirrored-tables.ts';
import { commentOf, type Relation } from '../../../catalog/relation.ts';
import { type Comment, commentStatement } from '../../../postgres/comments.ts';

/** Private tables, and the public views to read instead. */
const PRIVATE = { _client_keys: 'v_clients', _sinks: 'v_sink_health', _sources: 'v_freshness' } as const;
const LEDGER = 'The ledger that the row came from.';
/** Relations that are tables in the catalog and views in PostgreSQL. */
const VIEWS: readonly string[] = ['lead_answers', 'lead_versions', 'deliveries', 'attempts'];
const KEYS: Readonly<Record<string, string>> = {
  key_no: 'Number of the row in the ledger.',
  source: 'With id: the lead.',
  id: 'With source: the lead.',
  created_at: 'When the lead was created.',
  client_key: 'Identifies the client; empty for a client without email address and phone number.',
  _leadsync_ledger: LEDGER,
};

const ERASED: Readonly<Record<string, string>> = {
  erased_no: 'Number of the row in the ledger.',
  source: 'With id: the lead.',
  id: 'With source: the lead.',
  erased_at: 'When it was erased from the ledger.',
  _leadsync_ledger: LEDGER,
};

const PRESENCE: Readonly<Record<string, string>> = {
  presence_no: 'Number of the row in the ledger.',
  source: 'With id: the lead.',
  id: 'With source: the lead.',
  last_listed_at: 'When the lead was last listed; null if it came back.',
  noted_at: 'When leadsync recorded that the lead was gone or came back.',
  _leadsync_ledger: LEDGER,
};

const ATTEMPT = mirroredTable('attempts').columns.map(({ name }) => name);

/** Private tables with their columns, and the public view to read instead. */
const LEAN = {
  _ledgers: {
    shown: 'deliveries',
    columns: {
      ledger_no: 'Number of the ledger in this schema.',
      ledger: 'The id of the ledger.',
      lost: 'Whether this ledger was lost: the ledger that now has its id does not contain these rows.',
    },
  },
  _sink_names: {
    shown: 'deliveries',
    columns: {
      sink_no: 'Number of the sink in this schema.',
      named: "The sink's first name, which the ids of its deliveries contain.",
      sink: "The sink's name in leadsync's configuration.",
    },
  },
  _deliveries: {
    shown: 'deliveries',
    columns: {
      ...same('deliveries', [
        ...['source', 'lead_id', 'lead_version', 'event', 'state', 'reason', 'attempts'],
        ...['owed_at', 'first_attempt_at', 'next_attempt_at', 'settled_at'],
        ...['ref_object', 'ref_id', 'ref_url'],
      ]),
      no: 'Number of the row in the ledger; increases with time.',
      ledger_no: 'The ledger that the row came from: see _ledgers.',
      sink_no: 'The sink: see _sink_names.',
      content: 'The first 32 bits of the hash of the content.',
      replay:
        'When the replay was requested, in milliseconds since 1970; null if the delivery is not a replay.',
      delivered_from: 'When the attempt that delivered the lead began; null if that is first_attempt_at.',
      attempt_no: 'Number of the attempt that delivered the lead; null if unknown.',
      duration_ms: 'How long that attempt took, in milliseconds.',
      http_status: 'HTTP status of the answer to that attempt; null for destinations without HTTP.',
      delivery_id: 'Identifies the delivery; null if the other columns determine the id.',
    },
  },
  _versions: {
    shown: 'lead_versions',
    columns: {
      ...same('lead_versions', [
        ...['source', 'lead_id', 'version', 'valid_from', 'valid_to'],
        ...['is_current', 'poll_id', 'changed_fields'],
      ]),
      no: 'Number of the row in the ledger; increases with time.',
      ledger_no: 'The ledger that the row came from: see _ledgers.',
      hash: 'Hash of the content: equal texts have equal hashes.',
    },
  },
  _contents: {
    shown: 'lead_versions',
    columns: {
      source: 'With lead_id: the lead.',
      lead_id: 'With source: the lead.',
      hash: 'Hash of the content: equal texts have equal hashes.',
      replaced: 'Whether raw has U+FFFD for NUL or a lone surrogate.',
      raw: "The JSON of a version whose content is not the lead's current one in leads. Personal data.",
      original: 'The JSON exactly as received; null unless replaced is true. Personal data.',
    },
  },
  _attempts: { shown: 'attempts', columns: { ...same('attempts', ATTEMPT), _leadsync_ledger: LEDGER } },
} as const;

/** The comments on every table, view and column, which tools show. */
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

/** Statements that write all comments. They must run with the schema as `search_path`. */
export const commentsSql = allComments.map(commentStatement).join(';\n');

function ofRelation(relation: Relation): Comment[] {
  const { name, kind, columns } = relation;
  return [
    comment(kind === 'view' || VIEWS.includes(name) ? 'VIEW' : 'TABLE', name, commentOf(relation)),
    ...columns.map((column) => comment('COLUMN', `${name}.${column.name}`, column.means)),
  ];
}

/** Returns the comments on the columns of the table behind a view. The table lacks `age_seconds`, which the view computes. */
function ofPresent(table: string, view: string): Comment[] {
  const columns = relations.find(({ name }) => name === view)?.columns ?? [];
  return columns
    .filter(({ name }) => name !== 'age_seconds')
    .map(({ name, means }) => comment('COLUMN', `${table}.${name}`, means));
}

/** Returns the meanings of those columns of a public relation that a private table shares. */
function same(relation: string, names: readonly string[]): Readonly<Record<string, string>> {
  const columns = relations.find(({ name }) => name === relation)?.columns ?? [];
  return Object.fromEntries(
    columns.filter(({ name }) => names.includes(name)).map(({ name, means }) => [name, means]),
  );
}

function comment(what: Comment['what'], name: string, text: string): Comment {
  return { what, name, text };
}
