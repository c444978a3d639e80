/** How the rows of a relation are taken away: in which order they can be read in parts, and what of them is new. */
export interface Extraction {
  /** Columns that say where a part ends, so that each is found by an index and read for itself. Empty: read in one go. */
  readonly order: readonly string[];
  /** Several rows may agree in the order: they stay together in a part. Elsewhere no two do. */
  readonly ties?: true;
  /**
   * SQL for rows that came or changed at `:since` or later (`:sinceMs` in ms since 1970). It may hold for others too, never for fewer: a
   * row must not fall between two exports. Without it the relation is always taken whole.
   */
  readonly since?: string;
  /** The time by whose day they are partitioned. Without it they are one file. */
  readonly day?: string;
}

/** SQL for a lead that has another content, went missing or came back at `:since` or later. Tables of leads share it, so one export has the same leads in all of them. */
const leadChanged = (id: string, name: string) =>
  `EXISTS (SELECT 1 FROM lead_versions e WHERE e.source = ${name}.source AND e.lead_id = ${name}.${id} AND e.valid_from >= :since)
   OR (source, ${id}) IN (SELECT source, id FROM _presence WHERE noted_at >= :sinceMs)`;

/** SQL for a lead whose erasure was begun or went on at `:since` or later. */
const ERASED =
  '(source, lead_id) IN (SELECT source, id FROM _erased WHERE erased_at >= :sinceMs OR coalesce(finished_at, :sinceMs) >= :sinceMs)';

/** SQL for a source whose first poll ended at `:since` or later: only from then on is it known which leads are backfill. */
const FIRST_POLL_ENDED = `source IN (SELECT o.source FROM _sources o WHERE (SELECT coalesce(p.finished_at, :since) FROM polls p
   WHERE p.source = o.source AND p.leads_new > 0 ORDER BY p.poll_id LIMIT 1) >= :since)`;

const ISO = '%Y-%m-%dT%H:%M:%fZ';
/** SQL for when an attempt ended, and so could be written. */
const ATTEMPT_ENDED = `strftime('${ISO}', coalesce(last_started_at, started_at), (duration_ms / 1000.0) || ' seconds')`;

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
    since: `(${ATTEMPT_ENDED} >= :since OR ${ERASED})`,
    day: 'started_at',
  },
  rejected_leads: {
    order: ['rejected_id'],
    // Only an erasure empties a text, and it may find the element by the text alone, without a lead.
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
    // An attempt is written when it ends, under the time at which it began.
    since: `("at" >= strftime('${ISO}', :since, '-1 hour') OR ${ERASED})`,
    day: 'at',
  },
};

/** How the rows of that relation are taken away. */
export function extractionOf(relation: string): Extraction {
  return extractions[relation] ?? WHOLE;
}
