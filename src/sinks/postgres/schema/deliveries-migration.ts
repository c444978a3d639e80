import { DELIVERED_FROM, DELIVERY_ID, deliveryViews } from './delivery-views.ts';

/** The part of a delivery's id that follows the name of the sink. */
const LEAD = `':' || f.source || ':' || f.lead_id || ':' || f.lead_version || ':'`;
/** A pattern for the part that follows the content. */
const ENDING =
  "CASE WHEN f.event = 'erased' THEN '^:erased$' WHEN f.replay THEN '^:r[0-9]{1,18}$' ELSE '^$' END";

/**
 * SQL for the rows of the former table with the parts of their ids: `named`, the sink's first name (null if the id has another form), and
 * `rest`, which follows the lead's version. If a lost ledger used a number several times, `turn` numbers the rows that have this number.
 */
const FORMER = `SELECT f.*, i.rest,
    CASE WHEN i.at > 1 AND left(i.rest, 8) ~ '^[0-9a-f]{8}$' AND substr(i.rest, 9) ~ ${ENDING} THEN left(f.delivery_id, i.at - 1) END AS named,
    CASE WHEN f._leadsync_ledger LIKE '%-lost' THEN (SELECT count(*) FROM _former_deliveries o WHERE o._leadsync_ledger = f._leadsync_ledger
      AND o._leadsync_no = f._leadsync_no AND o.delivery_id <= f.delivery_id) ELSE 1 END AS turn
  FROM _former_deliveries f CROSS JOIN LATERAL (SELECT strpos(f.delivery_id, ${LEAD}) AS at,
    substr(f.delivery_id, strpos(f.delivery_id, ${LEAD}) + length(${LEAD})) AS rest) i`;

/** Copies the grants on the former tables to their replacements. */
const GRANTS = `
  DO $grants$
  DECLARE r record;
  BEGIN
    FOR r IN
      SELECT c.relname, a.privilege_type AS privilege, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role, a.is_grantable
      FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
      WHERE c.oid IN ('_former_deliveries'::regclass, '_former_attempts'::regclass) AND a.grantee <> c.relowner
    LOOP
      EXECUTE format('GRANT %s ON %s, %s TO %s%s', r.privilege, replace(r.relname, '_former_', ''), replace(r.relname, '_former', ''), r.role,
        CASE WHEN r.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
      IF r.privilege = 'INSERT' THEN EXECUTE format('GRANT SELECT, INSERT ON _ledgers, _sink_names TO %s', r.role);
        EXECUTE format('GRANT SELECT ON v_undelivered TO %s', r.role); END IF;
    END LOOP;
    FOR r IN
      SELECT c.relname, att.attname, a.privilege_type AS privilege, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role
      FROM pg_class c JOIN pg_attribute att ON att.attrelid = c.oid CROSS JOIN LATERAL aclexplode(att.attacl) a
      WHERE c.oid IN ('_former_deliveries'::regclass, '_former_attempts'::regclass) AND a.privilege_type = 'SELECT'
    LOOP
      EXECUTE format('GRANT SELECT (%I) ON %s TO %s', r.attname, replace(r.relname, '_former_', ''), r.role);
    END LOOP;
  END $grants$;
`;

/**
 * Step 8 of the schema: a delivery becomes a narrow row with numbers instead of names, which also contains the attempt that delivered
 * it. Only failed attempts have rows of their own. Views keep the names and columns of the former tables.
 */
export const deliveriesStep = `
  ALTER TABLE deliveries RENAME TO _former_deliveries;
  ALTER TABLE attempts RENAME TO _former_attempts;
  CREATE TABLE _ledgers (
    ledger_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ledger text NOT NULL,
    lost boolean NOT NULL
  );
  CREATE UNIQUE INDEX _ledgers_by_name ON _ledgers (ledger) WHERE NOT lost;
  CREATE TABLE _sink_names (
    sink_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    named text NOT NULL,
    sink text NOT NULL,
    UNIQUE (named, sink)
  );
  CREATE TABLE _deliveries (
    no bigint NOT NULL,
    lead_id bigint NOT NULL,
    owed_at timestamptz NOT NULL,
    first_attempt_at timestamptz,
    next_attempt_at timestamptz,
    settled_at timestamptz,
    delivered_from timestamptz,
    attempt_no bigint,
    replay bigint,
    ledger_no integer NOT NULL,
    sink_no integer NOT NULL,
    lead_version integer NOT NULL,
    content integer NOT NULL,
    attempts integer NOT NULL,
    duration_ms integer,
    http_status integer,
    event text NOT NULL,
    state text NOT NULL,
    source text NOT NULL,
    reason text,
    delivery_id text
  );
  CREATE TABLE _attempts (LIKE _former_attempts INCLUDING DEFAULTS);

  INSERT INTO _sink_names (named, sink) SELECT DISTINCT coalesce(f.named, f.sink), f.sink FROM (${FORMER}) f;
  INSERT INTO _ledgers (ledger, lost) SELECT DISTINCT f._leadsync_ledger, f._leadsync_ledger LIKE '%-lost' FROM _former_deliveries f;
  INSERT INTO _ledgers (ledger, lost) SELECT f._leadsync_ledger, true FROM (${FORMER}) f WHERE f.turn > 1 GROUP BY f._leadsync_ledger, f.turn;
  INSERT INTO _deliveries (no, lead_id, owed_at, first_attempt_at, next_attempt_at, settled_at, delivered_from, attempt_no, replay, ledger_no,
    sink_no, lead_version, content, attempts, duration_ms, http_status, event, state, source, reason, delivery_id)
  SELECT DISTINCT ON (g.ledger_no, f._leadsync_no) f._leadsync_no, f.lead_id, f.owed_at, f.first_attempt_at, f.next_attempt_at, f.settled_at,
    nullif(a.started_at, f.first_attempt_at), a._leadsync_no,
    CASE WHEN f.replay THEN CASE WHEN f.named IS NULL OR f.event = 'erased' THEN 0 ELSE substr(f.rest, 11)::bigint END END, g.ledger_no, s.sink_no,
    f.lead_version, CASE WHEN f.named IS NULL THEN 0 ELSE ('x' || left(f.rest, 8))::bit(32)::integer END, f.attempts, a.duration_ms, a.http_status,
    f.event, f.state,
    f.source, f.reason, CASE WHEN f.named IS NULL THEN f.delivery_id END
  FROM (${FORMER}) f
  JOIN (SELECT ledger_no, ledger, row_number() OVER (PARTITION BY ledger ORDER BY ledger_no) AS turn FROM _ledgers) g
    ON g.ledger = f._leadsync_ledger AND g.turn = f.turn
  JOIN _sink_names s ON s.named = coalesce(f.named, f.sink) AND s.sink = f.sink
  LEFT JOIN _former_attempts a ON a.delivery_id = f.delivery_id AND a.outcome = 'delivered' AND f.state = 'delivered'
  ORDER BY g.ledger_no, f._leadsync_no, a.started_at DESC;
  ALTER TABLE _deliveries ADD PRIMARY KEY (ledger_no, no);
  CREATE INDEX _deliveries_lead ON _deliveries (lead_id, source);
  CREATE INDEX _deliveries_open ON _deliveries (ledger_no, no) WHERE state IN ('pending', 'dead');
  INSERT INTO _attempts SELECT a.* FROM _former_attempts a WHERE a.outcome <> 'delivered' OR NOT EXISTS (
    SELECT FROM _deliveries d JOIN _sink_names s ON s.sink_no = d.sink_no WHERE d.source = a.source AND d.lead_id = a.lead_id
      AND d.attempt_no IS NOT NULL AND ${DELIVERY_ID} = a.delivery_id AND ${DELIVERED_FROM} = a.started_at);
  ALTER TABLE _attempts ADD PRIMARY KEY (delivery_id, started_at);
  CREATE INDEX _attempts_number ON _attempts (_leadsync_ledger, _leadsync_no);
  CREATE INDEX _attempts_lead ON _attempts (source, lead_id);
  ${deliveryViews}
  ${GRANTS}
  DROP TABLE _former_deliveries, _former_attempts;
`;
