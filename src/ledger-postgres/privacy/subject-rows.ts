import type { LeadKey, Person, PersonRecord, PersonValue } from '../../leads/person.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { DELIVERY_ID } from '../schema/delivery-sql.ts';

type Row = PersonRecord[string][number];

/** A lead's columns, and the text from which the others are read. */
interface LeadRow extends Record<string, PersonValue> {
  content: string;
}

/** Returns all rows that the ledger holds about a person, by the names of the public tables. */
export async function subjectRows(tx: Transaction, { leads, rejected }: Person): Promise<PersonRecord> {
  const of = async (sql: (typeof OF_LEAD)[keyof typeof OF_LEAD]): Promise<Row[]> => {
    const rows: Row[] = [];
    for (const { source, leadId } of leads) rows.push(...(await tx.rows(sql, [source, leadId])));
    return rows;
  };
  const known = texts(rejected.map(({ source }) => source));
  return {
    leads: await leadRows(tx, leads),
    lead_versions: await of(OF_LEAD.versions),
    deliveries: await of(OF_LEAD.deliveries),
    attempts: await of(OF_LEAD.attempts),
    client_keys: await of(OF_LEAD.clientKeys),
    erased: await of(OF_LEAD.erased),
    rejected_leads: await tx.rows(REJECTED, [known, texts(rejected.map(({ hash }) => hash))]),
  };
}

async function leadRows(tx: Transaction, leads: readonly LeadKey[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { source, leadId } of leads) {
    const [row] = await tx.rows(LEAD, [source, leadId]);
    if (row) rows.push(withContent(row));
  }
  return rows;
}

/** Returns the row of a lead with the columns that are part of its text. */
function withContent({ content, source, id, service_slug, created_at, ...own }: LeadRow): Row {
  const lead = JSON.parse(content) as Record<string, PersonValue | undefined>;
  const address = lead['client_address'] as { friendly_address?: PersonValue } | null | undefined;
  const answers = lead['service_question_answers'] ?? null;
  return {
    source: source ?? null,
    id: id ?? null,
    service_name: lead['service_name'] ?? null,
    service_slug: service_slug ?? null,
    created_at: created_at ?? null,
    client_name: lead['client_name'] ?? null,
    client_email: lead['client_email'] ?? null,
    client_phone_number: lead['client_phone_number'] ?? null,
    client_address: address?.friendly_address ?? null,
    all_details_one_liner: lead['all_details_one_liner'] ?? null,
    service_question_answers: answers,
    answers: bySlug(answers),
    ...own,
  };
}

/** Returns answers by slug. If a slug repeats, its answers are an array in the order of the listing. */
function bySlug(answers: PersonValue): Record<string, PersonValue> {
  if (!Array.isArray(answers)) return {};
  const groups = Map.groupBy(answers as { slug: string; answer: PersonValue }[], ({ slug }) => slug);
  return Object.fromEntries(
    [...groups].map(([slug, all]) => [
      slug,
      all.length === 1 ? (all[0]?.answer ?? null) : all.map(({ answer }) => answer),
    ]),
  );
}

/** Converts ms since 1970 to the public form of a time. */
const at = (column: string) =>
  `to_char(to_timestamp(${column} / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const NEXT = 'FROM _versions n WHERE n.source = v.source AND n.id = v.id AND n.version = v.version + 1';
const ORIGINAL = `(v.safe_raw IS NOT NULL)::int AS _leadsync_replaced, CASE WHEN v.safe_raw IS NOT NULL THEN v.raw END AS _leadsync_original`;
const DELIVERIES = `_versions v JOIN _deliveries d ON d.version_no = v.version_no JOIN _sinks s ON s.sink_no = d.sink_no`;
const ref = (part: string) => `d.ref::json ->> '${part}' AS ref_${part}`;

const LEAD = statement<LeadRow>(
  'record-lead',
  `SELECT coalesce(v.readable, v.raw) AS content, l.source, l.id::text AS id, v.service_slug, ${at('v.created_at')} AS created_at,
   ${at('v.first_seen_at')} AS _leadsync_first_seen_at, ${at('v.valid_from')} AS _leadsync_changed_at, ${at('v.valid_from')} AS _leadsync_synced_at,
   ${at('coalesce(l.last_listed_at, o.complete_at, v.valid_from)')} AS _leadsync_last_listed_at, l.version AS _leadsync_version,
   l.hash AS _leadsync_hash, coalesce(v.safe_raw, v.raw) AS _leadsync_raw, ${ORIGINAL}
   FROM _leads l JOIN _versions v ON v.version_no = l.version_no LEFT JOIN _sources o ON o.source = l.source
   WHERE l.source = $1 AND l.id = $2 AND l.erased_no IS NULL`,
);

const OF_LEAD = {
  versions: statement<Row>(
    'record-versions',
    `SELECT v.source, v.id::text AS lead_id, v.version, ${at('v.valid_from')} AS valid_from, (SELECT ${at('n.valid_from')} ${NEXT}) AS valid_to,
     (NOT EXISTS (SELECT 1 ${NEXT}))::int AS is_current, v.changed_fields::json AS changed_fields, v.poll_id, v.hash AS _leadsync_hash,
     coalesce(v.safe_raw, v.raw) AS raw, v.version_no AS _leadsync_no, ${ORIGINAL}
     FROM _versions v WHERE v.source = $1 AND v.id = $2 ORDER BY v.version`,
  ),
  deliveries: statement<Row>(
    'record-deliveries',
    `SELECT ${DELIVERY_ID} AS delivery_id, v.source, v.id::text AS lead_id, v.version AS lead_version, s.sink, d.event, d.state, d.reason, d.attempts,
     ${at('d.owed_at')} AS owed_at, ${at('d.first_attempt_at')} AS first_attempt_at, ${at('d.next_attempt_at')} AS next_attempt_at,
     ${at('d.settled_at')} AS settled_at, (d.replay > 0)::int AS replay, d.delivery_no AS _leadsync_no, ${ref('object')}, ${ref('id')}, ${ref('url')}
     FROM ${DELIVERIES} WHERE v.source = $1 AND v.id = $2 ORDER BY d.delivery_no`,
  ),
  attempts: statement<Row>(
    'record-attempts',
    `SELECT ${DELIVERY_ID} AS delivery_id, v.source, v.id::text AS lead_id, s.sink, ${at('a.started_at')} AS started_at, a.duration_ms, a.outcome,
     a.http_status, a.error, a.times, ${at('a.last_at')} AS last_started_at, a.attempt_no AS _leadsync_no, a.answer
     FROM ${DELIVERIES} JOIN _attempts a ON a.delivery_no = d.delivery_no WHERE v.source = $1 AND v.id = $2 ORDER BY a.attempt_no`,
  ),
  clientKeys: statement<Row>(
    'record-client-keys',
    'SELECT source, id::text AS id, client_key FROM _client_keys WHERE source = $1 AND id = $2',
  ),
  erased: statement<Row>(
    'record-erased',
    `SELECT source, id::text AS id, ${at('erased_at')} AS erased_at, kept_out FROM _erased WHERE source = $1 AND id = $2`,
  ),
};

const REJECTED = statement<Row>(
  'record-rejected',
  `SELECT r.rejected_id, r.source, r.poll_id, r.last_poll_id, r.position, r.lead_id::text AS lead_id, r.reason, r.path,
   ${at('r.resolved_at')} AS resolved_at, r.hash, r.raw
   FROM unnest($1::text[], $2::text[]) AS g (source, hash) JOIN _rejected_leads r ON r.source = g.source AND r.hash = g.hash`,
);
