/** Converts ms since 1970 to the public form of a time: `YYYY-MM-DDTHH:MM:SS.sssZ`, UTC. */
const at = (column: string) =>
  `CAST(strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch') AS TEXT)`;
/** The lead's text, with replacements for characters that databases cannot store. */
const content = 'coalesce(v.readable, v.raw)';
/**
 * The JSON from which columns are extracted. SQLite cannot read JSON that is nested more than 1,000 levels deep, so a lead with such JSON has
 * empty columns instead of breaking queries. Only JSON of at least 2,000 bytes can be nested that deep, so shorter JSON is not checked.
 */
const json = `iif(length(CAST(${content} AS BLOB)) < 2000 OR json_valid(${content}), ${content}, '{}')`;
const text = (path: string) => `CAST(json_extract(${json}, '$.${path}') AS TEXT)`;
/**
 * The characters that JavaScript's `trim` removes. A value that consists only of these characters counts as missing, as it does for
 * `client_key`.
 */
const BLANKS =
  'char(9, 10, 11, 12, 13, 32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288, 65279)';
/** Whether a lead has a value in a field; null if `retention` removed its content. */
const given = (path: string) =>
  `CAST(iif(json_type(${json}, '$.client_email') IS NULL, NULL, coalesce(trim(json_extract(${json}, '$.${path}'), ${BLANKS}), '') <> '') AS INTEGER)`;
/** A part of the time at which the client created the lead. */
const createdPart = (format: string, type: string) =>
  `CAST(strftime('${format}', v.created_at / 1000.0, 'unixepoch') AS ${type})`;
const seconds = (from: string, to: string) => `CAST((${to} - ${from}) / 1000.0 AS REAL)`;
/**
 * The current versions of leads that are not erased. The join starts with the versions, so that counts read the narrow index of
 * `_versions`.
 */
const CURRENT =
  '_versions v CROSS JOIN _leads l ON l.source = v.source AND l.id = v.id AND l.version_no = v.version_no AND l.erased_no IS NULL';

/** The present time in ms since 1970. `unixepoch('subsec')` is null before SQLite 3.42. */
const NOW_MS = "((julianday('now') - 2440587.5) * 86400000.0)";
/** The deliveries `f` of the same lead to the same sink as the delivery `d`. */
const OF_LEAD_AND_SINK = `FROM _versions w CROSS JOIN _deliveries f ON f.version_no = w.version_no
    WHERE w.source = v.source AND w.id = v.id AND f.sink_no = d.sink_no`;
/** When the lead of `d` was first owed to its sink, in ms. `d` may have replaced an earlier delivery of an older version. */
const OWED_AT = `iif(d.owed_at <= v.first_seen_at, d.owed_at, (SELECT min(f.owed_at) ${OF_LEAD_AND_SINK} AND f.replay = 0))`;
const ARRIVED_AT = `iif(d.state = 'delivered', d.settled_at,
    (SELECT min(f.settled_at) ${OF_LEAD_AND_SINK} AND f.state = 'delivered' AND f.event <> 'erased'))`;
/**
 * When the first poll of a source that recorded a lead began. MATERIALIZED, so that it is computed for each source and not for each lead.
 */
const FIRST_LISTED = `LEFT JOIN (WITH first AS MATERIALIZED (SELECT source, (SELECT p.started_at FROM polls p
    WHERE p.source = _sources.source AND p.leads_new > 0 ORDER BY p.poll_id LIMIT 1) AS first_listed_at FROM _sources)
    SELECT * FROM first) o ON o.source = v.source`;
/**
 * Whether a lead counts as backfill: it is not known to have been created at `first_listed_at` or later, or only a later backfill recorded
 * it as owed to this sink. `created` has the form of `o.first_listed_at`: text, or ms.
 */
const backfill = (created: string) =>
  `(NOT coalesce(${created} >= o.first_listed_at, 0) OR ${OWED_AT} > v.first_seen_at)`;
const IS_BACKFILL = `CAST(${backfill(at('v.created_at'))} AS INTEGER)`;
/**
 * Whether the delivery `d` of the version `v` shows how fast leadsync delivers a new lead of the source `o`, a row of `_sources`. A change, a
 * replay, a lead that its source listed from the start, and a lead that a backfill recorded as owed do not count. Every delivery time that
 * leadsync reports follows this rule.
 */
export const IS_NEW_LEAD = `(d.event = 'created' AND d.replay = 0 AND NOT ${backfill('v.created_at')})`;

/** The public id of a delivery, from the rows `d` (delivery), `v` (version) and `s` (sink). Receivers rely on the form of the id. */
export const deliveryId = `(coalesce(s.named, s.sink) || ':' || v.source || ':' || v.id || ':' || v.version || ':' || substr(v.hash, 1, 8) || CASE WHEN d.event = 'erased' THEN ':erased' WHEN d.replay THEN ':r' || d.replay ELSE '' END || iif(d.reissued, ':m' || d.reissued, ''))`;

/**
 * Whether every later attempt of the delivery `d` must use the mapping of an earlier attempt, because a request with that mapping has
 * carried the delivery's id.
 */
export const KEEPS_MAPPING = '(d.unsure_at IS NOT NULL OR d.bound = 1)';

/**
 * When the content of a delivery was first listed, in ms, from the rows `d` and `v`; for the event `erased`, when the delivery was owed.
 */
export const changedAt = "iif(d.event = 'erased', d.owed_at, v.valid_from)";

/**
 * Columns and joins of the deliveries that are not delivered. Each use appends a condition on the state, so that SQLite uses the index for
 * that state.
 */
const undelivered = `CAST(${deliveryId} AS TEXT) AS delivery_id, v.source, v.id AS lead_id, v.version AS lead_version, s.sink, d.state, d.reason,
      d.attempts, ${at('d.owed_at')} AS owed_at, ${at('d.next_attempt_at')} AS next_attempt_at, ${at('d.settled_at')} AS settled_at
    FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no`;

/** A JSON object of answers by slug. If a slug repeats, its answers are an array in the order of the listing. */
const answersBySlug = `CAST((SELECT json_group_object(slug, json(iif(n = 1, json_quote(answer), answers))) FROM (
  SELECT slug, count(*) AS n, min(answer) AS answer, json_group_array(answer) AS answers FROM (
    SELECT json_extract(a.value, '$.slug') AS slug, json_extract(a.value, '$.answer') AS answer
    FROM json_each(${json}, '$.service_question_answers') a ORDER BY 1, a.key) GROUP BY 1)) AS TEXT)`;

const safeText = 'CAST(coalesce(v.safe_raw, v.raw) AS TEXT)';
const original = `CAST(v.safe_raw IS NOT NULL AS INTEGER) AS _leadsync_replaced,
  CAST(iif(v.safe_raw IS NULL, NULL, v.raw) AS TEXT) AS _leadsync_original`;

/** The SELECT of the view `leads`, with the given expressions for times and answers. */
const leadsWith = (time: (ms: string) => string, inOrder: string, bySlug: string) => `SELECT
  l.source, l.id,
  ${text('service_name')} AS service_name,
  v.service_slug AS service_slug,
  ${time('v.created_at')} AS created_at,
  ${text('client_name')} AS client_name,
  ${text('client_email')} AS client_email,
  ${text('client_phone_number')} AS client_phone_number,
  ${text('client_address.friendly_address')} AS client_address,
  ${text('all_details_one_liner')} AS all_details_one_liner,
  ${inOrder} AS service_question_answers,
  ${bySlug} AS answers,
  ${time('v.first_seen_at')} AS _leadsync_first_seen_at,
  ${time('v.valid_from')} AS _leadsync_changed_at,
  ${time('v.valid_from')} AS _leadsync_synced_at,
  ${time('coalesce(l.last_listed_at, o.complete_at, v.valid_from)')} AS _leadsync_last_listed_at,
  l.version AS _leadsync_version, l.hash AS _leadsync_hash, ${safeText} AS _leadsync_raw,
  ${original}
FROM _leads l JOIN _versions v ON v.version_no = l.version_no LEFT JOIN _sources o ON o.source = l.source
WHERE l.erased_no IS NULL`;

/**
 * Rows like those of the view `leads`, except that times are ms since 1970, `service_question_answers` is JSON even if it is a plain value,
 * and `answers` is null. `completing` turns them into rows of the view faster than SQLite does.
 */
export const leadRows = leadsWith(
  (ms) => ms,
  `CAST(${json} -> '$.service_question_answers' AS TEXT)`,
  'NULL',
);

/** One field of the record that a lead became at its destination, from the row `d`. */
const ref = (part: string) => `CAST(d.ref ->> '$.${part}' AS TEXT) AS ref_${part}`;

/** The public views, which docs/store.md describes. Every expression has a CAST, so that tools can see the type of each column. */
export const publicViews = `
  CREATE VIEW lead_versions AS SELECT
    v.source, v.id AS lead_id, v.version,
    ${at('v.valid_from')} AS valid_from,
    (SELECT ${at('n.valid_from')} FROM _versions n WHERE n.source = v.source AND n.id = v.id AND n.version = v.version + 1) AS valid_to,
    CAST(NOT EXISTS (SELECT 1 FROM _versions n WHERE n.source = v.source AND n.id = v.id AND n.version = v.version + 1) AS INTEGER) AS is_current,
    v.changed_fields, v.poll_id, v.hash AS _leadsync_hash, ${safeText} AS raw, v.version_no AS _leadsync_no,
    ${original}
  FROM _versions v;

  CREATE VIEW leads AS ${leadsWith(at, text('service_question_answers'), answersBySlug)};

  CREATE VIEW lead_answers AS SELECT
    l.source, l.id AS lead_id, CAST(a.key AS INTEGER) AS position,
    CAST(json_extract(a.value, '$.question') AS TEXT) AS question,
    CAST(json_extract(a.value, '$.slug') AS TEXT) AS slug,
    CAST(json_extract(a.value, '$.answer') AS TEXT) AS answer
  FROM _leads l JOIN _versions v ON v.version_no = l.version_no, json_each(${json}, '$.service_question_answers') a;

  CREATE VIEW deliveries AS SELECT
    CAST(${deliveryId} AS TEXT) AS delivery_id, v.source, v.id AS lead_id, v.version AS lead_version, s.sink, d.event, d.state, d.reason,
    d.attempts, ${at('d.owed_at')} AS owed_at, ${at('d.first_attempt_at')} AS first_attempt_at,
    ${at('d.next_attempt_at')} AS next_attempt_at, ${at('d.settled_at')} AS settled_at, CAST(d.replay > 0 AS INTEGER) AS replay,
    d.delivery_no AS _leadsync_no, ${ref('object')}, ${ref('id')}, ${ref('url')}
  FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = +d.sink_no;

  CREATE VIEW attempts AS SELECT
    CAST(${deliveryId} AS TEXT) AS delivery_id, v.source, v.id AS lead_id, s.sink, ${at('a.started_at')} AS started_at, a.duration_ms,
    a.outcome, a.http_status, a.error, CAST(a.times AS INTEGER) AS times, ${at('a.last_at')} AS last_started_at,
    a.attempt_no AS _leadsync_no
  FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no JOIN _versions v ON v.version_no = d.version_no
  JOIN _sinks s ON s.sink_no = d.sink_no;

  CREATE VIEW v_leads AS SELECT source, id, service_name, service_slug, created_at, client_name, client_email, client_phone_number,
    client_address, all_details_one_liner, service_question_answers, answers FROM leads;

  CREATE VIEW v_leads_no_pii AS SELECT
    v.source, v.id, ${text('service_name')} AS service_name, v.service_slug, ${at('v.created_at')} AS created_at,
    ${createdPart('%Y-%m-%d', 'TEXT')} AS created_day, ${createdPart('%w', 'INTEGER')} AS created_weekday,
    ${createdPart('%H', 'INTEGER')} AS created_hour,
    CAST(floor(v.created_at / 3600000.0) AS INTEGER) AS created_hour_number,
    ${given('client_email')} AS has_email, ${given('client_phone_number')} AS has_phone,
    ${given('client_address.friendly_address')} AS has_address, ${at('v.first_seen_at')} AS first_seen_at,
    CAST((SELECT nullif(k.client_key, '') FROM _client_keys k WHERE k.source = v.source AND k.id = v.id) AS TEXT) AS client_key
  FROM ${CURRENT};

  CREATE VIEW v_clients AS SELECT client_key, CAST(count(*) AS INTEGER) AS leads, ${at('min(created_at)')} AS first_created_at,
    ${at('max(created_at)')} AS last_created_at FROM _client_keys WHERE client_key > '' GROUP BY client_key;

  CREATE VIEW v_lead_timeline AS
    SELECT source, lead_id, valid_from AS at, iif(version = 1, 'listed', 'changed') AS what, CAST(NULL AS TEXT) AS sink, changed_fields AS detail FROM lead_versions
    UNION ALL SELECT source, lead_id, started_at, outcome, sink, error FROM attempts;

  CREATE VIEW v_speed_to_lead AS SELECT
    v.source, v.id AS lead_id, s.sink, v.service_slug, ${at('v.created_at')} AS created_at, ${at('v.first_seen_at')} AS first_seen_at,
    ${at('d.settled_at')} AS delivered_at, ${seconds('v.created_at', 'v.first_seen_at')} AS created_to_seen_seconds,
    ${seconds('v.first_seen_at', 'd.settled_at')} AS seen_to_delivered_seconds,
    ${seconds('v.created_at', 'd.settled_at')} AS created_to_delivered_seconds,
    ${at(OWED_AT)} AS owed_at, ${IS_BACKFILL} AS is_backfill
  FROM ${CURRENT} CROSS JOIN _versions e ON e.source = v.source AND e.id = v.id
  CROSS JOIN _deliveries d ON d.version_no = e.version_no JOIN _sinks s ON s.sink_no = d.sink_no ${FIRST_LISTED}
  WHERE d.state = 'delivered' AND d.event = 'created' AND d.replay = 0;

  CREATE VIEW v_speed_to_lead_all AS SELECT
    v.source, v.id AS lead_id, s.sink, v.service_slug, ${at('v.created_at')} AS created_at, ${at('v.first_seen_at')} AS first_seen_at,
    ${at(OWED_AT)} AS owed_at, ${IS_BACKFILL} AS is_backfill,
    CAST(iif(${ARRIVED_AT} IS NULL, d.state, 'delivered') AS TEXT) AS state, ${at(ARRIVED_AT)} AS delivered_at,
    ${seconds('v.created_at', `coalesce(${ARRIVED_AT}, ${NOW_MS})`)} AS age_seconds
  FROM ${CURRENT} CROSS JOIN _versions e ON e.source = v.source AND e.id = v.id
  CROSS JOIN _deliveries d ON d.version_no = e.version_no JOIN _sinks s ON s.sink_no = d.sink_no ${FIRST_LISTED}
  WHERE d.event = 'created' AND d.replay = 0 AND (d.state = 'delivered' OR d.state IN ('pending', 'dead') AND NOT EXISTS (
    SELECT 1 ${OF_LEAD_AND_SINK} AND f.event = 'created' AND f.replay = 0
      AND (f.state = 'delivered' OR f.state IN ('pending', 'dead') AND f.delivery_no > d.delivery_no)));

  CREATE VIEW v_gone_leads AS SELECT p.source, p.id AS lead_id, v.service_slug, ${at('v.created_at')} AS created_at,
    ${at('p.last_listed_at')} AS last_listed_at, ${at('p.noted_at')} AS gone_at
  FROM _presence p CROSS JOIN _leads l ON l.source = p.source AND l.id = p.id AND l.erased_no IS NULL
  CROSS JOIN _versions v ON v.version_no = l.version_no WHERE p.last_listed_at IS NOT NULL AND p.noted_at >= v.valid_from;

  CREATE VIEW v_erased_leads AS SELECT source, id AS lead_id, ${at('erased_at')} AS erased_at FROM _erased;

  CREATE VIEW v_undelivered AS
    SELECT ${undelivered} WHERE d.state = 'pending'
    UNION ALL SELECT ${undelivered} WHERE d.state = 'dead';

  CREATE VIEW v_sink_health AS SELECT s.sink,
    s.pending, s.dead,
    (SELECT ${at('min(d.owed_at)')} FROM _deliveries d WHERE d.sink_no = s.sink_no AND d.state = 'pending') AS oldest_owed_at,
    ${at("json_extract(s.health, '$.heldSince')")} AS held_since, CAST(json_extract(s.health, '$.heldReason') AS TEXT) AS held_reason,
    ${at("json_extract(s.health, '$.pausedSince')")} AS paused_since, CAST(json_extract(s.health, '$.pausedReason') AS TEXT) AS paused_reason,
    ${at("json_extract(s.health, '$.lastDeliveredAt')")} AS last_delivered_at
  FROM _sinks s;

  CREATE VIEW v_freshness AS SELECT source, ${at('complete_at')} AS last_success_at,
    CAST((${NOW_MS} - complete_at) / 1000.0 AS REAL) AS age_seconds, listed AS leads_listed, rejected AS leads_rejected FROM _sources;

  CREATE VIEW v_services AS SELECT source, service_slug, service_name, CAST(count(*) AS INTEGER) AS leads FROM leads GROUP BY 1, 2, 3;

  CREATE VIEW v_questions AS SELECT source, slug, question, CAST(count(*) AS INTEGER) AS answers FROM lead_answers GROUP BY 1, 2, 3;
`;
