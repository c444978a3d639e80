import type { Engine } from './query.ts';

/** SQL that is the same on every engine, or one text for each. */
type Condition = string | Readonly<Record<Engine, string>>;

/** How an export reads the rows of a relation: in which order, and how it recognises new rows. */
export interface Extraction {
  /**
   * The columns by which the keyset pages are ordered; an index finds the rows in this order. If empty, the export reads all rows with one
   * query.
   */
  readonly order: readonly string[];
  /** Whether several rows may have the same values in `order`. If so, a page never ends between two such rows. */
  readonly ties?: true;
  /**
   * The SQL condition for rows that were added or changed at `:since` (`:sinceMs` in ms since 1970) or later. It may select more rows but
   * never fewer, so that no row is missing between two exports. Without this condition, every export contains the whole relation.
   */
  readonly since?: Condition;
  /** The time column by whose day the rows are partitioned. If undefined, all rows are in one file. */
  readonly day?: string;
}

/**
 * The SQL condition for a lead that changed, was gone or came back at `:since` or later. All relations with leads use this condition, so
 * that an export has the same leads in all of them.
 */
const leadChanged = (id: string, name: string) =>
  `EXISTS (SELECT 1 FROM lead_versions e WHERE e.source = ${name}.source AND e.lead_id = ${name}.${id} AND e.valid_from >= :since)
   OR (source, ${id}) IN (SELECT source, id FROM _presence WHERE noted_at >= :sinceMs)`;

/** The SQL condition for a lead whose erasure is not finished, or began or finished at `:since` or later. */
const ERASED =
  '(source, lead_id) IN (SELECT source, id FROM _erased WHERE erased_at >= :sinceMs OR coalesce(finished_at, :sinceMs) >= :sinceMs)';

/**
 * The SQL condition for a source whose first poll with new leads ended at `:since` or later, or has not ended. leadsync knows which leads
 * are backfill only after that poll.
 */
const FIRST_POLL_ENDED = `source IN (SELECT o.source FROM _sources o WHERE (SELECT coalesce(p.finished_at, :since) FROM polls p
   WHERE p.source = o.source AND p.leads_new > 0 ORDER BY p.poll_id LIMIT 1) >= :since)`;

const ISO = '%Y-%m-%dT%H:%M:%fZ';
/** The SQL for the time at which an attempt ended, which is when its row was written. */
const ATTEMPT_ENDED = {
  sqlite: `strftime('${ISO}', coalesce(last_started_at, started_at), (duration_ms / 1000.0) || ' seconds')`,
  postgres: "coalesce(last_started_at, started_at) + duration_ms * interval '1 millisecond'",
};
/** The SQL for an hour before `:since`. */
const AN_HOUR_BEFORE = {
  sqlite: `strftime('${ISO}', :since, '-1 hour')`,
  postgres: "CAST(:since AS timestamptz) - interval '1 hour'",
};

const WHOLE: Extraction = { order: [] };

const extractions: Readonly<Record<string, Extraction>> = {
  leads: { order: ['source', 'id'], since: `(${leadChanged('id', 'leads')})`, day: 'created_at' },
  lead_answers: {
    order: ['source', 'lead_id'],
    ties: true,
    since: `(${leadChanged('lead_id', 'lead_answers')})`,
  },
  lead_versions: {
    order: ['_leadsync_no'],
    since: `(valid_from >= :since OR valid_to >= :since OR ${ERASED})`,
    day: 'valid_from',
  },
  polls: {
    order: ['poll_id'],
    since: '(started_at >= :since OR coalesce(finished_at, :since) >= :since)',
    day: 'started_at',
  },
  deliveries: {
    order: ['_leadsync_no'],
    since: "(state = 'pending' OR settled_at >= :since OR owed_at >= :since)",
    day: 'owed_at',
  },
  attempts: {
    order: ['_leadsync_no'],
    since: onEach(ATTEMPT_ENDED, (ended) => `(${ended} >= :since OR ${ERASED})`),
    day: 'started_at',
  },
  rejected_leads: {
    order: ['rejected_id'],
    // Only an erasure empties `raw`. An erasure may match a rejected lead only by its text, so the lead is not always in `_erased`.
    since: "(resolved_at IS NULL OR resolved_at >= :since OR raw = '')",
  },
  v_leads: { order: ['source', 'id'], since: `(${leadChanged('id', 'v_leads')})`, day: 'created_at' },
  v_leads_no_pii: {
    order: ['source', 'id'],
    since: `(${leadChanged('id', 'v_leads_no_pii')} OR EXISTS (SELECT 1 FROM _client_keys k
      WHERE k.source = v_leads_no_pii.source AND k.id = v_leads_no_pii.id AND k.keyed_at >= :sinceMs))`,
    day: 'created_at',
  },
  v_speed_to_lead: {
    order: ['source', 'lead_id'],
    ties: true,
    since: `(delivered_at >= :since OR ${leadChanged('lead_id', 'v_speed_to_lead')} OR ${FIRST_POLL_ENDED})`,
    day: 'delivered_at',
  },
  v_speed_to_lead_all: {
    order: ['source', 'lead_id'],
    ties: true,
    since: `(state <> 'delivered' OR delivered_at >= :since OR ${leadChanged('lead_id', 'v_speed_to_lead_all')} OR ${FIRST_POLL_ENDED})`,
    day: 'created_at',
  },
  v_lead_timeline: {
    order: [],
    // An attempt is recorded when it ends, but with the time at which it began.
    since: onEach(AN_HOUR_BEFORE, (before) => `("at" >= ${before} OR ${ERASED})`),
    day: 'at',
  },
};

/**
 * Returns the SQL condition for the rows that were added or changed at or after the parameter `:since`; undefined if every export has the whole
 * relation.
 */
export function sinceOn(engine: Engine, { since }: Extraction): string | undefined {
  return typeof since === 'object' ? since[engine] : since;
}

function onEach(sql: Readonly<Record<Engine, string>>, condition: (sql: string) => string): Condition {
  return { sqlite: condition(sql.sqlite), postgres: condition(sql.postgres) };
}

/** Returns an export's way of reading the rows of a relation. */
export function extractionOf(relation: string): Extraction {
  return extractions[relation] ?? WHOLE;
}
