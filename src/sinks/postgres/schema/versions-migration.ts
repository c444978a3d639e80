/** Copies the grants on the former table to its replacements. */
const GRANTS = `
  DO $grants$
  DECLARE r record;
  BEGIN
    FOR r IN
      SELECT a.privilege_type AS privilege, CASE WHEN t.attname IS NULL THEN '' ELSE format(' (%I)', t.attname) END AS of,
        CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role,
        CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END AS how
      FROM pg_class c CROSS JOIN LATERAL (SELECT NULL::name AS attname, c.relacl AS acl
        UNION ALL SELECT attname, attacl FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) t CROSS JOIN LATERAL aclexplode(t.acl) a
      WHERE c.oid = '_former_versions'::regclass AND a.privilege_type IN ('SELECT', 'INSERT') AND a.grantee <> c.relowner
    LOOP
      IF r.privilege = 'SELECT' THEN EXECUTE format('GRANT SELECT%s ON lead_versions TO %s%s', r.of, r.role, r.how);
      ELSE
        EXECUTE format('GRANT SELECT, INSERT, UPDATE ON _versions TO %s', r.role);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON _contents TO %s', r.role);
      END IF;
    END LOOP;
  END $grants$;
`;

/** The JSON that stands in for a version's content that no longer exists. */
const EMPTY = `('{"id":' || v.lead_id || '}')`;

/**
 * Step 10 of the schema: the content of a version is in `leads` if it is the lead's present one, and in `_contents` otherwise. When a lead
 * is updated, a trigger copies its former content to `_contents`. `lead_versions` becomes a view with the columns of the former table.
 */
export const versionsStep = `
  ALTER TABLE lead_versions RENAME TO _former_versions;
  CREATE TABLE _versions (
    no bigint NOT NULL,
    lead_id bigint NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    poll_id bigint NOT NULL,
    ledger_no integer NOT NULL,
    version integer NOT NULL,
    is_current boolean NOT NULL,
    source text NOT NULL,
    hash text NOT NULL,
    changed_fields json
  );
  CREATE TABLE _contents (
    source text NOT NULL,
    lead_id bigint NOT NULL,
    hash text NOT NULL,
    replaced boolean NOT NULL,
    raw json NOT NULL,
    original text
  );

  INSERT INTO _ledgers (ledger, lost) SELECT DISTINCT v._leadsync_ledger, v._leadsync_ledger LIKE '%-lost' FROM _former_versions v
  WHERE NOT EXISTS (SELECT FROM _ledgers g WHERE g.ledger = v._leadsync_ledger);
  INSERT INTO _versions (no, lead_id, valid_from, valid_to, poll_id, ledger_no, version, is_current, source, hash, changed_fields)
  SELECT v._leadsync_no, v.lead_id, v.valid_from, v.valid_to, v.poll_id, g.ledger_no, v.version, v.is_current, v.source, v._leadsync_hash, v.changed_fields
  FROM _former_versions v JOIN (SELECT ledger, min(ledger_no) AS ledger_no FROM _ledgers GROUP BY 1) g ON g.ledger = v._leadsync_ledger
  ORDER BY g.ledger_no, v._leadsync_no;
  INSERT INTO _contents (source, lead_id, hash, replaced, raw, original)
  SELECT DISTINCT ON (v.source, v.lead_id, v._leadsync_hash) v.source, v.lead_id, v._leadsync_hash, v._leadsync_replaced, v.raw, v._leadsync_original
  FROM _former_versions v WHERE v.raw::text <> ${EMPTY} AND NOT EXISTS (
    SELECT FROM leads l WHERE l.source = v.source AND l.id = v.lead_id AND l._leadsync_hash = v._leadsync_hash);
  ALTER TABLE _versions ADD PRIMARY KEY (lead_id, source, version);
  CREATE INDEX _versions_number ON _versions (ledger_no, no);
  ALTER TABLE _contents ADD PRIMARY KEY (source, lead_id, hash);

  -- SECURITY DEFINER: a user who may write leads needs no rights on _contents.
  CREATE FUNCTION _keep_superseded() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $keep$
  DECLARE mirrored boolean;
  BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I._ledgers)', TG_TABLE_SCHEMA) INTO mirrored;
    IF mirrored THEN
      EXECUTE format('INSERT INTO %I._contents (source, lead_id, hash, replaced, raw, original) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING',
        TG_TABLE_SCHEMA)
      USING OLD.source, OLD.id, OLD._leadsync_hash, OLD._leadsync_replaced, OLD._leadsync_raw, OLD._leadsync_original;
    END IF;
    RETURN NULL;
  END $keep$;
  CREATE TRIGGER _keep_superseded AFTER UPDATE ON leads FOR EACH ROW
    WHEN (OLD._leadsync_hash IS DISTINCT FROM NEW._leadsync_hash) EXECUTE FUNCTION _keep_superseded();

  CREATE VIEW lead_versions AS SELECT v.source, v.lead_id, v.version, v.valid_from, v.valid_to, v.is_current, v.changed_fields, v.poll_id,
    v.hash AS _leadsync_hash,
    CASE WHEN l.id IS NOT NULL THEN l._leadsync_raw WHEN c.lead_id IS NOT NULL THEN c.raw ELSE ${EMPTY}::json END AS raw,
    v.no AS _leadsync_no, g.ledger AS _leadsync_ledger, coalesce(l._leadsync_replaced, c.replaced, false) AS _leadsync_replaced,
    CASE WHEN l.id IS NOT NULL THEN l._leadsync_original ELSE c.original END AS _leadsync_original
  FROM _versions v LEFT JOIN leads l ON l.source = v.source AND l.id = v.lead_id AND l._leadsync_hash = v.hash
  LEFT JOIN _contents c ON c.source = v.source AND c.lead_id = v.lead_id AND c.hash = v.hash
  LEFT JOIN _ledgers g ON g.ledger_no = v.ledger_no;
  CREATE OR REPLACE VIEW v_lead_timeline AS
    SELECT source, lead_id, valid_from AS at, CASE WHEN version = 1 THEN 'listed' ELSE 'changed' END AS what,
      NULL::text AS sink, changed_fields::text AS detail FROM lead_versions
    UNION ALL SELECT source, lead_id, started_at, outcome, sink, error FROM attempts;
  ${GRANTS}
  DROP TABLE _former_versions;
`;
