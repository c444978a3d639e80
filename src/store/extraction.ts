/** How the rows of a relation are taken away: in which order they can be read in parts, and what of them is new. */
export interface Extraction {
  /** Columns that say where a part ends, so that each is found by an index and read for itself. Empty: read in one go. */
  readonly order: readonly string[];
  /** Several rows may agree in the order: they stay together in a part. Elsewhere no two do. */
  readonly ties?: true;
  /** SQL that holds for rows which came or changed at `:since` or later. Without it they are always taken whole. */
  readonly since?: string;
  /** The time by whose day they are partitioned. Without it they are one file. */
  readonly day?: string;
}

const bySince = (id: string, name: string) =>
  `EXISTS (SELECT 1 FROM lead_versions e WHERE e.source = ${name}.source AND e.lead_id = ${name}.${id} AND e.valid_from >= :since)`;

const WHOLE: Extraction = { order: [] };

const extractions: Readonly<Record<string, Extraction>> = {
  leads: { order: ['source', 'id'], since: '_leadsync_changed_at >= :since', day: 'created_at' },
  lead_answers: { order: ['source', 'lead_id'], ties: true, since: bySince('lead_id', 'lead_answers') },
  lead_versions: { order: ['_leadsync_no'], since: 'valid_from >= :since', day: 'valid_from' },
  polls: { order: ['poll_id'], since: 'started_at >= :since', day: 'started_at' },
  deliveries: {
    order: ['_leadsync_no'],
    since: "(state = 'pending' OR coalesce(settled_at, owed_at) >= :since)",
    day: 'owed_at',
  },
  attempts: {
    order: ['_leadsync_no'],
    since: 'coalesce(last_started_at, started_at) >= :since',
    day: 'started_at',
  },
  rejected_leads: {
    order: ['rejected_id'],
    since: 'last_poll_id IN (SELECT poll_id FROM polls WHERE started_at >= :since)',
  },
  v_leads: { order: ['source', 'id'], since: bySince('id', 'v_leads'), day: 'created_at' },
  v_leads_no_pii: { order: ['source', 'id'], since: bySince('id', 'v_leads_no_pii'), day: 'created_at' },
  v_speed_to_lead: {
    order: ['source', 'lead_id'],
    ties: true,
    since: 'delivered_at >= :since',
    day: 'delivered_at',
  },
  v_speed_to_lead_all: {
    order: ['source', 'lead_id'],
    ties: true,
    since: `(state <> 'delivered' OR delivered_at >= :since OR ${bySince('lead_id', 'v_speed_to_lead_all')})`,
    day: 'created_at',
  },
  v_lead_timeline: { order: [], since: '"at" >= :since', day: 'at' },
};

/** How the rows of that relation are taken away. */
export function extractionOf(relation: string): Extraction {
  return extractions[relation] ?? WHOLE;
}
