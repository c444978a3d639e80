/** SQL for the public id of a delivery, from the rows `d` of `_deliveries` and `s` of `_sink_names`. */
export const DELIVERY_ID = `coalesce(d.delivery_id, s.named || ':' || d.source || ':' || d.lead_id || ':' || d.lead_version || ':'
    || lpad(to_hex(d.content), 8, '0')
    || CASE WHEN d.event = 'erased' THEN ':erased' WHEN d.replay IS NOT NULL THEN ':r' || d.replay ELSE '' END)`;

/** SQL for the start of the attempt that delivered `d`. */
export const DELIVERED_FROM = 'coalesce(d.delivered_from, d.first_attempt_at)';

/** Deliveries `d` with their sink names `s` and ledgers `g`. PostgreSQL drops a left join whose columns a query does not use. */
export const DELIVERIES =
  '_deliveries d LEFT JOIN _sink_names s ON s.sink_no = d.sink_no LEFT JOIN _ledgers g ON g.ledger_no = d.ledger_no';

const CREATED = "date_trunc('milliseconds', l.created_at)";
const seconds = (from: string, to: string) => `extract(epoch FROM ${to} - ${from})::double precision`;
const ONE_LEDGER = '(SELECT min(ledger_no) = max(ledger_no) FROM _deliveries)';

/** Deliveries of the same lead to the same sink as `d`. */
const OF_LEAD_AND_SINK = (
  name: string,
) => `FROM _deliveries ${name} JOIN _sink_names n${name} ON n${name}.sink_no = ${name}.sink_no
      WHERE ${name}.source = d.source AND ${name}.lead_id = d.lead_id AND n${name}.sink = s.sink`;
/** Deliveries of the same lead to the same sink as `d` with the event `created`, without replays. */
const OTHERS = `SELECT ${OF_LEAD_AND_SINK('e')} AND e.event = 'created' AND e.replay IS NULL`;
/** SQL for the time since which the lead of `d` has been owed to its sink: `d` may have replaced an earlier delivery of an older version. */
const OWED_AT = `CASE WHEN d.owed_at <= l._leadsync_first_seen_at THEN d.owed_at ELSE (
      SELECT min(f.owed_at) ${OF_LEAD_AND_SINK('f')} AND f.replay IS NULL) END`;
/** Whether the lead is older than the first poll that found new leads in its source, or came to this sink through a later backfill. */
const IS_BACKFILL = `(NOT coalesce(${CREATED} >= o.first_listed_at, false) OR ${OWED_AT} > l._leadsync_first_seen_at)`;
const FIRST_LISTED = `LEFT JOIN (SELECT s.source, (SELECT p.started_at FROM polls p WHERE p.source = s.source AND p.leads_new > 0
    ORDER BY p.started_at LIMIT 1) AS first_listed_at FROM _sources s) o ON o.source = d.source`;
/** Whether `d` is the earliest delivery, if several ledgers delivered the lead as a new one. */
const IS_FIRST = `(${ONE_LEDGER} OR NOT EXISTS (
      ${OTHERS} AND e.state = 'delivered' AND (e.settled_at, e.ledger_no, e.no) < (d.settled_at, d.ledger_no, d.no)))`;

const DELIVERY_COLUMNS = `${DELIVERY_ID} AS delivery_id, d.source, d.lead_id, d.lead_version, s.sink,
    d.event, d.state, d.reason, d.attempts,
    d.owed_at, d.first_attempt_at, d.next_attempt_at, d.settled_at, d.replay IS NOT NULL AS replay, d.no AS _leadsync_no,
    g.ledger AS _leadsync_ledger`;

/** Step 12 of the schema: adds to a delivery the record that the lead became at the destination. */
export const refStep = `
  ALTER TABLE _deliveries ADD COLUMN ref_object text, ADD COLUMN ref_id text, ADD COLUMN ref_url text;
  CREATE OR REPLACE VIEW deliveries AS SELECT ${DELIVERY_COLUMNS}, d.ref_object, d.ref_id, d.ref_url FROM ${DELIVERIES};
`;

/** SQL that creates the public views over `_deliveries` and `_attempts`. */
export const deliveryViews = `
  CREATE VIEW deliveries AS SELECT ${DELIVERY_COLUMNS} FROM ${DELIVERIES};

  CREATE VIEW attempts AS
    SELECT ${DELIVERY_ID} AS delivery_id, d.source, d.lead_id, s.sink, ${DELIVERED_FROM} AS started_at, d.duration_ms,
      'delivered'::text AS outcome, d.http_status, NULL::text AS error, 1 AS times, NULL::timestamptz AS last_started_at,
      d.attempt_no AS _leadsync_no, g.ledger AS _leadsync_ledger
    FROM ${DELIVERIES} WHERE d.attempt_no IS NOT NULL
    UNION ALL SELECT delivery_id, source, lead_id, sink, started_at, duration_ms, outcome, http_status, error, times, last_started_at,
      _leadsync_no, _leadsync_ledger
    FROM _attempts;

  CREATE OR REPLACE VIEW v_lead_timeline AS
    SELECT source, lead_id, valid_from AS at, CASE WHEN version = 1 THEN 'listed' ELSE 'changed' END AS what,
      NULL::text AS sink, changed_fields::text AS detail FROM lead_versions
    UNION ALL SELECT source, lead_id, started_at, outcome, sink, error FROM attempts;

  CREATE OR REPLACE VIEW v_undelivered AS SELECT ${DELIVERY_ID} AS delivery_id, d.source, d.lead_id, d.lead_version, s.sink,
    d.state, d.reason, d.attempts, d.owed_at, d.next_attempt_at, d.settled_at
  FROM ${DELIVERIES} WHERE d.state IN ('pending', 'dead');

  CREATE OR REPLACE VIEW v_speed_to_lead AS SELECT d.source, d.lead_id, s.sink, l.service_slug, l.created_at,
    l._leadsync_first_seen_at AS first_seen_at, d.settled_at AS delivered_at,
    ${seconds(CREATED, 'l._leadsync_first_seen_at')} AS created_to_seen_seconds,
    ${seconds('l._leadsync_first_seen_at', 'd.settled_at')} AS seen_to_delivered_seconds,
    ${seconds(CREATED, 'd.settled_at')} AS created_to_delivered_seconds,
    ${OWED_AT} AS owed_at, ${IS_BACKFILL} AS is_backfill
  FROM _deliveries d JOIN _sink_names s ON s.sink_no = d.sink_no JOIN leads l ON l.source = d.source AND l.id = d.lead_id ${FIRST_LISTED}
  WHERE d.state = 'delivered' AND d.event = 'created' AND d.replay IS NULL AND ${IS_FIRST};

  CREATE OR REPLACE VIEW v_speed_to_lead_all AS SELECT d.source, d.lead_id, d.sink, l.service_slug, l.created_at,
    l._leadsync_first_seen_at AS first_seen_at, ${OWED_AT.replaceAll('s.sink', 'd.sink')} AS owed_at,
    ${IS_BACKFILL.replaceAll('s.sink', 'd.sink')} AS is_backfill,
    CASE WHEN d.arrived_at IS NULL THEN d.state ELSE 'delivered' END AS state, d.arrived_at AS delivered_at,
    ${seconds(CREATED, 'coalesce(d.arrived_at, now())')} AS age_seconds
  FROM (
    SELECT d.source, d.lead_id, s.sink, d.owed_at, d.state,
      CASE WHEN d.state = 'delivered' THEN d.settled_at ELSE (
        SELECT min(r.settled_at) ${OF_LEAD_AND_SINK('r')} AND r.state = 'delivered' AND r.event <> 'erased') END AS arrived_at
    FROM _deliveries d JOIN _sink_names s ON s.sink_no = d.sink_no
    WHERE d.event = 'created' AND d.replay IS NULL AND (
      d.state = 'delivered' AND ${IS_FIRST}
      OR d.state IN ('pending', 'dead') AND NOT EXISTS (
        ${OTHERS} AND (e.state = 'delivered' OR e.state IN ('pending', 'dead') AND (e.owed_at, e.ledger_no, e.no) > (d.owed_at, d.ledger_no, d.no))))
  ) d JOIN leads l ON l.source = d.source AND l.id = d.lead_id ${FIRST_LISTED};
`;
