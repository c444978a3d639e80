import { DELIVERY_ID, OWED_AT } from './delivery-sql.ts';

/** Converts ms since 1970 to a time, exactly. `to_timestamp` alone rounds times of distant years. */
const at = (ms: string) => `to_timestamp(${ms} / 1000) + ${ms} % 1000 * interval '1 millisecond'`;
const seconds = (from: string, to: string) => `((${to} - ${from}) / 1000.0)::double precision`;
/** The present time in ms since 1970, with fractions. */
const NOW_MS = 'extract(epoch FROM now()) * 1000';

/** The JSON of the version `v`, in a form that PostgreSQL's functions accept. */
const json = 'coalesce(v.safe_raw, v.raw)::json';
const text = (field: string) => `${json} ->> '${field}'`;
const ADDRESS = `${json} #>> '{client_address,friendly_address}'`;
/** The characters that JavaScript's `trim` removes. A value that consists only of these characters counts as missing. */
const BLANKS = String.raw`E'\t\n\u000b\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'`;
/** Whether a lead has a value; null if `retention` removed its content. */
const given = (value: string) =>
  `CASE WHEN ${json} -> 'client_email' IS NOT NULL THEN coalesce(btrim(${value}, ${BLANKS}), '') <> '' END`;
const createdUtc = `(${at('v.created_at')}) AT TIME ZONE 'UTC'`;

const answersOf = (value: string) =>
  `json_array_elements(${json} -> 'service_question_answers') WITH ORDINALITY AS ${value} (answer, place)`;
/** A JSON object of answers by slug. If a slug repeats, its answers are an array in the order of the listing. */
const answersBySlug = `(SELECT coalesce(jsonb_object_agg(b.slug, CASE WHEN b.n = 1 THEN b.answers -> 0 ELSE b.answers END), '{}') FROM (
    SELECT a.answer ->> 'slug' AS slug, count(*) AS n, jsonb_agg(a.answer -> 'answer' ORDER BY a.place) AS answers
    FROM ${answersOf('a')} GROUP BY 1) b)`;

const original = `v.safe_raw IS NOT NULL AS _leadsync_replaced, CASE WHEN v.safe_raw IS NOT NULL THEN v.raw END AS _leadsync_original`;

/** The current versions of leads that are not erased. */
const CURRENT =
  '(SELECT v.* FROM _leads l JOIN _versions v ON v.version_no = l.version_no WHERE l.erased_no IS NULL) v';
/** The version `v` and the sink `s` of the delivery `d`. */
const OF_DELIVERY = 'JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no';

/** The deliveries `f` of the same lead to the same sink as the delivery `d`. */
const OF_LEAD_AND_SINK = `FROM _versions w JOIN _deliveries f ON f.version_no = w.version_no
      WHERE w.source = v.source AND w.id = v.id AND f.sink_no = d.sink_no`;
const ARRIVED_AT = `CASE WHEN d.state = 'delivered' THEN d.settled_at ELSE (
      SELECT min(f.settled_at) ${OF_LEAD_AND_SINK} AND f.state = 'delivered' AND f.event <> 'erased') END`;
/** When the first poll of a source that recorded a lead began. OFFSET 0, so that it is computed for each source and not for each lead. */
const FIRST_LISTED = `LEFT JOIN (SELECT source, (SELECT p.started_at FROM _polls p WHERE p.source = _sources.source AND p.leads_new > 0
      ORDER BY p.poll_id LIMIT 1) AS first_listed_at FROM _sources OFFSET 0) o ON o.source = v.source`;
/** As in ledger/schema/views.ts. */
const IS_BACKFILL = `(NOT coalesce(v.created_at >= o.first_listed_at, false) OR ${OWED_AT} > v.first_seen_at)`;
/** The deliveries of current leads, also those of the leads' older versions. */
const OF_CURRENT = `${CURRENT} JOIN _versions e ON e.source = v.source AND e.id = v.id JOIN _deliveries d ON d.version_no = e.version_no
    JOIN _sinks s ON s.sink_no = d.sink_no ${FIRST_LISTED}`;

const ref = (part: string) => `d.ref::json ->> '${part}' AS ref_${part}`;
const health = (part: string) => `s.health::json ->> '${part}'`;
const healthAt = (part: string) => at(`(${health(part)})::bigint`);

/**
 * The public relations that docs/store.md describes, as views over the private tables. They have the names, the columns and the order of columns of
 * the catalog. A migration that changes a view may only add columns at its end; one that changes the type of a column of a table first drops the
 * views that read it.
 */
const SELECTS: Readonly<Record<string, string>> = {
  leads: `SELECT v.source, v.id, ${text('service_name')} AS service_name, v.service_slug, ${at('v.created_at')} AS created_at,
      ${text('client_name')} AS client_name, ${text('client_email')} AS client_email, ${text('client_phone_number')} AS client_phone_number,
      ${ADDRESS} AS client_address, ${text('all_details_one_liner')} AS all_details_one_liner,
      (${json} -> 'service_question_answers')::jsonb AS service_question_answers, ${answersBySlug} AS answers,
      ${at('v.first_seen_at')} AS _leadsync_first_seen_at, ${at('v.valid_from')} AS _leadsync_changed_at,
      ${at('v.valid_from')} AS _leadsync_synced_at,
      ${at('coalesce(l.last_listed_at, o.complete_at, v.valid_from)')} AS _leadsync_last_listed_at,
      v.version AS _leadsync_version, v.hash AS _leadsync_hash, ${json} AS _leadsync_raw, ${original}
    FROM _leads l JOIN _versions v ON v.version_no = l.version_no LEFT JOIN _sources o ON o.source = l.source
    WHERE l.erased_no IS NULL`,

  lead_answers: `SELECT v.source, v.id AS lead_id, (a.place - 1)::integer AS position, a.answer ->> 'question' AS question,
      a.answer ->> 'slug' AS slug, a.answer ->> 'answer' AS answer
    FROM _leads l JOIN _versions v ON v.version_no = l.version_no CROSS JOIN LATERAL ${answersOf('a')}`,

  lead_versions: `SELECT v.source, v.id AS lead_id, v.version, ${at('v.valid_from')} AS valid_from, ${at('n.valid_from')} AS valid_to,
      n.version_no IS NULL AS is_current, v.changed_fields::json AS changed_fields, v.poll_id, v.hash AS _leadsync_hash, ${json} AS raw,
      v.version_no AS _leadsync_no, ${original}
    FROM _versions v LEFT JOIN _versions n ON n.source = v.source AND n.id = v.id AND n.version = v.version + 1`,

  polls: `SELECT poll_id, source, ${at('started_at')} AS started_at, ${at('finished_at')} AS finished_at, status, leads_listed, leads_new,
      leads_changed, leads_rejected, bytes, http_status, error
    FROM _polls`,

  deliveries: `SELECT ${DELIVERY_ID} AS delivery_id, v.source, v.id AS lead_id, v.version AS lead_version, s.sink, d.event, d.state, d.reason,
      d.attempts, ${at('d.owed_at')} AS owed_at, ${at('d.first_attempt_at')} AS first_attempt_at,
      ${at('d.next_attempt_at')} AS next_attempt_at, ${at('d.settled_at')} AS settled_at, d.replay > 0 AS replay,
      d.delivery_no AS _leadsync_no, ${ref('object')}, ${ref('id')}, ${ref('url')}
    FROM _deliveries d ${OF_DELIVERY}`,

  attempts: `SELECT ${DELIVERY_ID} AS delivery_id, v.source, v.id AS lead_id, s.sink, ${at('a.started_at')} AS started_at,
      a.duration_ms::integer AS duration_ms, a.outcome, a.http_status, a.error, a.times, ${at('a.last_at')} AS last_started_at,
      a.attempt_no AS _leadsync_no
    FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no ${OF_DELIVERY}`,

  rejected_leads: `SELECT rejected_id, source, poll_id, last_poll_id, position::integer AS position, lead_id, reason, path,
      ${at('resolved_at')} AS resolved_at, hash, raw
    FROM _rejected_leads`,

  v_leads: `SELECT source, id, service_name, service_slug, created_at, client_name, client_email, client_phone_number, client_address,
      all_details_one_liner, service_question_answers, answers
    FROM leads`,

  v_leads_no_pii: `SELECT v.source, v.id, ${text('service_name')} AS service_name, v.service_slug, ${at('v.created_at')} AS created_at,
      (${createdUtc})::date AS created_day, extract(dow FROM ${createdUtc})::integer AS created_weekday,
      extract(hour FROM ${createdUtc})::integer AS created_hour, floor(v.created_at / 3600000.0)::bigint AS created_hour_number,
      ${given(text('client_email'))} AS has_email, ${given(text('client_phone_number'))} AS has_phone, ${given(ADDRESS)} AS has_address,
      ${at('v.first_seen_at')} AS first_seen_at,
      (SELECT nullif(k.client_key, '') FROM _client_keys k WHERE k.source = v.source AND k.id = v.id) AS client_key
    FROM ${CURRENT}`,

  v_clients: `SELECT client_key, count(*) AS leads, ${at('min(created_at)')} AS first_created_at, ${at('max(created_at)')} AS last_created_at
    FROM _client_keys WHERE client_key > '' GROUP BY client_key`,

  v_lead_timeline: `SELECT source, lead_id, valid_from AS at, CASE WHEN version = 1 THEN 'listed' ELSE 'changed' END AS what, NULL::text AS sink,
      changed_fields::text AS detail
    FROM lead_versions
    UNION ALL SELECT source, lead_id, started_at, outcome, sink, error FROM attempts`,

  v_speed_to_lead: `SELECT v.source, v.id AS lead_id, s.sink, v.service_slug, ${at('v.created_at')} AS created_at,
      ${at('v.first_seen_at')} AS first_seen_at, ${at('d.settled_at')} AS delivered_at,
      ${seconds('v.created_at', 'v.first_seen_at')} AS created_to_seen_seconds,
      ${seconds('v.first_seen_at', 'd.settled_at')} AS seen_to_delivered_seconds,
      ${seconds('v.created_at', 'd.settled_at')} AS created_to_delivered_seconds,
      ${at(`(${OWED_AT})`)} AS owed_at, ${IS_BACKFILL} AS is_backfill
    FROM ${OF_CURRENT}
    WHERE d.state = 'delivered' AND d.event = 'created' AND d.replay = 0`,

  v_speed_to_lead_all: `SELECT v.source, v.id AS lead_id, s.sink, v.service_slug, ${at('v.created_at')} AS created_at,
      ${at('v.first_seen_at')} AS first_seen_at, ${at(`(${OWED_AT})`)} AS owed_at, ${IS_BACKFILL} AS is_backfill,
      CASE WHEN ${ARRIVED_AT} IS NULL THEN d.state ELSE 'delivered' END AS state, ${at(`(${ARRIVED_AT})`)} AS delivered_at,
      ${seconds('v.created_at', `coalesce(${ARRIVED_AT}, ${NOW_MS})`)} AS age_seconds
    FROM ${OF_CURRENT}
    WHERE d.event = 'created' AND d.replay = 0 AND (d.state = 'delivered' OR d.state IN ('pending', 'dead') AND NOT EXISTS (
      SELECT 1 ${OF_LEAD_AND_SINK} AND f.event = 'created' AND f.replay = 0
        AND (f.state = 'delivered' OR f.state IN ('pending', 'dead') AND f.delivery_no > d.delivery_no)))`,

  v_gone_leads: `SELECT p.source, p.id AS lead_id, v.service_slug, ${at('v.created_at')} AS created_at,
      ${at('p.last_listed_at')} AS last_listed_at, ${at('p.noted_at')} AS gone_at
    FROM _presence p JOIN ${CURRENT} ON v.source = p.source AND v.id = p.id
    WHERE p.last_listed_at IS NOT NULL AND p.noted_at >= v.valid_from`,

  v_erased_leads: `SELECT source, id AS lead_id, ${at('erased_at')} AS erased_at FROM _erased`,

  v_undelivered: `SELECT ${DELIVERY_ID} AS delivery_id, v.source, v.id AS lead_id, v.version AS lead_version, s.sink, d.state, d.reason,
      d.attempts, ${at('d.owed_at')} AS owed_at, ${at('d.next_attempt_at')} AS next_attempt_at, ${at('d.settled_at')} AS settled_at
    FROM _deliveries d ${OF_DELIVERY} WHERE d.state IN ('pending', 'dead')`,

  v_sink_health: `SELECT s.sink, (coalesce(c.pending, 0) + n.pending)::bigint AS pending, (coalesce(c.dead, 0) + n.dead)::bigint AS dead,
      ${at("(SELECT min(d.owed_at) FROM _deliveries d WHERE d.sink_no = s.sink_no AND d.state = 'pending')")} AS oldest_owed_at,
      ${healthAt('heldSince')} AS held_since, ${health('heldReason')} AS held_reason,
      ${healthAt('pausedSince')} AS paused_since, ${health('pausedReason')} AS paused_reason,
      ${at(`greatest((${health('lastDeliveredAt')})::bigint, c.delivered_at, n.delivered_at)`)} AS last_delivered_at
    FROM _sinks s LEFT JOIN _sink_counts c ON c.sink_no = s.sink_no
    CROSS JOIN LATERAL (SELECT coalesce(sum(pending), 0) AS pending, coalesce(sum(dead), 0) AS dead, max(delivered_at) AS delivered_at
      FROM _count_changes n WHERE n.sink_no = s.sink_no) n`,

  v_freshness: `SELECT source, ${at('complete_at')} AS last_success_at, ${seconds('complete_at', NOW_MS)} AS age_seconds,
      listed AS leads_listed, rejected AS leads_rejected
    FROM _sources`,

  v_services: 'SELECT source, service_slug, service_name, count(*) AS leads FROM leads GROUP BY 1, 2, 3',

  v_questions: 'SELECT source, slug, question, count(*) AS answers FROM lead_answers GROUP BY 1, 2, 3',
};

/** SQL that creates the public views, or replaces them with those of this version. It must run with the schema as `search_path`. */
export const publicViews = Object.entries(SELECTS)
  .map(([name, select]) => `CREATE OR REPLACE VIEW ${name} AS ${select}`)
  .join(';\n');
