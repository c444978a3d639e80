/** The characters that JavaScript's `trim` removes. Text that consists only of these counts as missing, as it does for `client_key`. */
const BLANKS = String.raw`E'\t\n\u000b\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'`;
const given = (column: string) => `coalesce(btrim(l.${column}, ${BLANKS}), '') <> ''`;

const CREATED = "date_trunc('milliseconds', l.created_at)";
const seconds = (from: string, to: string) => `extract(epoch FROM ${to} - ${from})::double precision`;
const ONE_LEDGER = '(SELECT min(_leadsync_ledger) = max(_leadsync_ledger) FROM deliveries)';

/** SQL for the time since which the lead of `d` has been owed to its sink: `d` may have replaced an earlier delivery of an older version. */
const OWED_AT = `CASE WHEN d.owed_at <= l._leadsync_first_seen_at THEN d.owed_at ELSE (
      SELECT min(f.owed_at) FROM deliveries f WHERE f.source = d.source AND f.lead_id = d.lead_id AND f.sink = d.sink AND NOT f.replay) END`;
/** Whether the lead is older than the first poll that found new leads in its source, or came to this sink through a later backfill. */
const IS_BACKFILL = `(NOT coalesce(${CREATED} >= o.first_listed_at, false) OR ${OWED_AT} > l._leadsync_first_seen_at)`;
const FIRST_LISTED = `LEFT JOIN (SELECT s.source, (SELECT p.started_at FROM polls p WHERE p.source = s.source AND p.leads_new > 0
    ORDER BY p.started_at LIMIT 1) AS first_listed_at FROM _sources s) o ON o.source = d.source`;

/** Deliveries of the same lead to the same sink as `d` with the event `created`, without replays. */
const OTHERS = `SELECT FROM deliveries e WHERE e.source = d.source AND e.lead_id = d.lead_id AND e.sink = d.sink
  AND e.event = 'created' AND NOT e.replay`;

/**
 * Step 6 of the schema: adds gone and erased leads, distinguishes backfills and undelivered leads in the speed to lead, and computes the
 * facts about a client as the ledger does.
 */
export const presenceStep = `
  CREATE TABLE _presence (
    presence_no bigint NOT NULL,
    source text NOT NULL,
    id bigint NOT NULL,
    last_listed_at timestamptz,
    noted_at timestamptz NOT NULL,
    _leadsync_ledger text NOT NULL,
    PRIMARY KEY (source, id)
  );
  CREATE INDEX _presence_number ON _presence (_leadsync_ledger, presence_no);

  CREATE VIEW v_gone_leads AS SELECT p.source, p.id AS lead_id, l.service_slug, l.created_at, p.last_listed_at, p.noted_at AS gone_at
  FROM _presence p JOIN leads l ON l.source = p.source AND l.id = p.id
  -- A new ledger does not know which leads were gone before it. A later content means that the lead came back.
  WHERE p.last_listed_at IS NOT NULL AND p.noted_at >= l._leadsync_changed_at;
  CREATE VIEW v_erased_leads AS SELECT source, id AS lead_id, erased_at FROM _erased;

  CREATE OR REPLACE VIEW v_leads_no_pii AS SELECT l.source, l.id, l.service_name, l.service_slug, l.created_at,
    (l.created_at AT TIME ZONE 'UTC')::date AS created_day,
    extract(dow FROM l.created_at AT TIME ZONE 'UTC')::integer AS created_weekday,
    extract(hour FROM l.created_at AT TIME ZONE 'UTC')::integer AS created_hour,
    floor(extract(epoch FROM l.created_at) / 3600)::bigint AS created_hour_number,
    ${given('client_email')} AS has_email, ${given('client_phone_number')} AS has_phone,
    ${given('client_address')} AS has_address, l._leadsync_first_seen_at AS first_seen_at,
    (SELECT nullif(k.client_key, '') FROM _client_keys k WHERE k.source = l.source AND k.id = l.id) AS client_key
  FROM leads l;
  -- To the microsecond, so that the times equal created_at of v_leads_no_pii.
  CREATE OR REPLACE VIEW v_clients AS SELECT k.client_key, count(*) AS leads, min(coalesce(l.created_at, k.created_at)) AS first_created_at,
    max(coalesce(l.created_at, k.created_at)) AS last_created_at
  FROM _client_keys k LEFT JOIN leads l ON l.source = k.source AND l.id = k.id WHERE k.client_key > '' GROUP BY k.client_key;

  CREATE OR REPLACE VIEW v_speed_to_lead AS SELECT d.source, d.lead_id, d.sink, l.service_slug, l.created_at,
    l._leadsync_first_seen_at AS first_seen_at, d.settled_at AS delivered_at,
    ${seconds(CREATED, 'l._leadsync_first_seen_at')} AS created_to_seen_seconds,
    ${seconds('l._leadsync_first_seen_at', 'd.settled_at')} AS seen_to_delivered_seconds,
    ${seconds(CREATED, 'd.settled_at')} AS created_to_delivered_seconds,
    ${OWED_AT} AS owed_at, ${IS_BACKFILL} AS is_backfill
  FROM deliveries d JOIN leads l ON l.source = d.source AND l.id = d.lead_id ${FIRST_LISTED}
  WHERE d.state = 'delivered' AND d.event = 'created' AND NOT d.replay
    AND (${ONE_LEDGER} OR NOT EXISTS (
      ${OTHERS} AND e.state = 'delivered' AND (e.settled_at, e.delivery_id) < (d.settled_at, d.delivery_id)));

  CREATE VIEW v_speed_to_lead_all AS SELECT d.source, d.lead_id, d.sink, l.service_slug, l.created_at,
    l._leadsync_first_seen_at AS first_seen_at, ${OWED_AT} AS owed_at, ${IS_BACKFILL} AS is_backfill,
    CASE WHEN d.arrived_at IS NULL THEN d.state ELSE 'delivered' END AS state, d.arrived_at AS delivered_at,
    ${seconds(CREATED, 'coalesce(d.arrived_at, now())')} AS age_seconds
  FROM (
    SELECT d.source, d.lead_id, d.sink, d.owed_at, d.state,
      CASE WHEN d.state = 'delivered' THEN d.settled_at ELSE (
        SELECT min(r.settled_at) FROM deliveries r WHERE r.source = d.source AND r.lead_id = d.lead_id AND r.sink = d.sink
          AND r.state = 'delivered' AND r.event <> 'erased') END AS arrived_at
    FROM deliveries d
    WHERE d.event = 'created' AND NOT d.replay AND (
      d.state = 'delivered' AND (${ONE_LEDGER} OR NOT EXISTS (
        ${OTHERS} AND e.state = 'delivered' AND (e.settled_at, e.delivery_id) < (d.settled_at, d.delivery_id)))
      OR d.state IN ('pending', 'dead') AND NOT EXISTS (
        ${OTHERS} AND (e.state = 'delivered' OR e.state IN ('pending', 'dead') AND (e.owed_at, e.delivery_id) > (d.owed_at, d.delivery_id))))
  ) d JOIN leads l ON l.source = d.source AND l.id = d.lead_id ${FIRST_LISTED};
`;
