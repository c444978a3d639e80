/**
 * Step 11 of the schema: `_leadsync_raw` may be null, because for most leads the other columns hold the whole lead. The function `_lead_json`
 * builds the lead's JSON from those columns, for the history of a lead whose content changes.
 */
export const rawStep = `
  ALTER TABLE leads ALTER COLUMN _leadsync_raw DROP NOT NULL;
  CREATE FUNCTION _lead_json(l leads) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $json$
    SELECT pg_catalog.json_build_object('id', l.id, 'service_name', l.service_name, 'service_slug', l.service_slug,
      'created_at', pg_catalog.to_char(l.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'client_name', l.client_name, 'client_email', l.client_email, 'client_phone_number', l.client_phone_number,
      'client_address', CASE WHEN l.client_address IS NULL THEN NULL ELSE pg_catalog.json_build_object('friendly_address', l.client_address) END,
      'service_question_answers', l.service_question_answers, 'all_details_one_liner', l.all_details_one_liner)
  $json$;
  -- A view runs its functions with the rights of the reader. This one reads nothing but its argument.
  GRANT EXECUTE ON FUNCTION _lead_json(leads) TO PUBLIC;

  CREATE OR REPLACE FUNCTION _keep_superseded() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $keep$
  DECLARE mirrored boolean;
  BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I._ledgers)', TG_TABLE_SCHEMA) INTO mirrored;
    IF mirrored THEN
      EXECUTE format('INSERT INTO %1$I._contents (source, lead_id, hash, replaced, raw, original)
        SELECT $1.source, $1.id, $1._leadsync_hash, $1._leadsync_replaced, coalesce($1._leadsync_raw, %1$I._lead_json($1)), $1._leadsync_original
        ON CONFLICT DO NOTHING', TG_TABLE_SCHEMA)
      USING OLD;
    END IF;
    RETURN NULL;
  END $keep$;

  CREATE OR REPLACE VIEW lead_versions AS SELECT v.source, v.lead_id, v.version, v.valid_from, v.valid_to, v.is_current, v.changed_fields, v.poll_id,
    v.hash AS _leadsync_hash,
    CASE WHEN l.id IS NOT NULL THEN coalesce(l._leadsync_raw, _lead_json(l)) WHEN c.lead_id IS NOT NULL THEN c.raw
      ELSE ('{"id":' || v.lead_id || '}')::json END AS raw,
    v.no AS _leadsync_no, g.ledger AS _leadsync_ledger, coalesce(l._leadsync_replaced, c.replaced, false) AS _leadsync_replaced,
    CASE WHEN l.id IS NOT NULL THEN l._leadsync_original ELSE c.original END AS _leadsync_original
  FROM _versions v LEFT JOIN leads l ON l.source = v.source AND l.id = v.lead_id AND l._leadsync_hash = v.hash
  LEFT JOIN _contents c ON c.source = v.source AND c.lead_id = v.lead_id AND c.hash = v.hash
  LEFT JOIN _ledgers g ON g.ledger_no = v.ledger_no;
`;
