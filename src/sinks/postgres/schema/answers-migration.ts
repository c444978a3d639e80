/** Copies the grants on the former table to the view. */
const GRANTS = `
  DO $grants$
  DECLARE r record;
  BEGIN
    FOR r IN
      SELECT CASE WHEN t.attname IS NULL THEN '' ELSE format(' (%I)', t.attname) END AS of,
        CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role,
        CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END AS how
      FROM pg_class c CROSS JOIN LATERAL (SELECT NULL::name AS attname, c.relacl AS acl
        UNION ALL SELECT attname, attacl FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) t CROSS JOIN LATERAL aclexplode(t.acl) a
      WHERE c.oid = '_former_answers'::regclass AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner
    LOOP
      EXECUTE format('GRANT SELECT%s ON lead_answers TO %s%s', r.of, r.role, r.how);
    END LOOP;
  END $grants$;
`;

/** Step 9 of the schema: stores an answer only in the row of its lead, and makes `lead_answers` a view. */
export const answersStep = `
  ALTER TABLE lead_answers RENAME TO _former_answers;
  CREATE VIEW lead_answers AS SELECT l.source, l.id AS lead_id, (a.place - 1)::integer AS position, a.answer ->> 'question' AS question,
    a.answer ->> 'slug' AS slug, a.answer ->> 'answer' AS answer
  FROM leads l CROSS JOIN LATERAL jsonb_array_elements(l.service_question_answers) WITH ORDINALITY AS a (answer, place);
  CREATE OR REPLACE VIEW v_questions AS SELECT source, slug, question, count(*) AS answers FROM lead_answers GROUP BY 1, 2, 3;
  ${GRANTS}
  DROP TABLE _former_answers;

  -- Compression is half the cost of writing a lead, and lz4 is faster. Servers before version 14, and some builds, do not have it.
  DO $compression$
  DECLARE name text;
  BEGIN
    FOREACH name IN ARRAY ARRAY['all_details_one_liner', 'service_question_answers', 'answers', '_leadsync_raw', '_leadsync_original'] LOOP
      EXECUTE format('ALTER TABLE leads ALTER COLUMN %I SET COMPRESSION lz4', name);
    END LOOP;
  EXCEPTION WHEN OTHERS THEN NULL;
  END $compression$;
`;
