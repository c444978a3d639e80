-- Lets analysts query the views of leadsync's schema that hold no personal data, and nothing else. Run it as the owner of the
-- schema or as a superuser, after leadsync has delivered there, and again after each upgrade:
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v schema=leadsync -v role=leadsync_analyst -f analyst-role.sql
--
-- Creates the role, which cannot log in, if it is missing. Then run: GRANT leadsync_analyst TO your_user;
-- A view reads its tables with the rights of its owner, so the role cannot read the tables.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema leadsync \endif
\if :{?role} \else \set role leadsync_analyst \endif

SELECT format('CREATE ROLE %I NOLOGIN', :'role')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec

BEGIN;
-- Removes earlier grants.
REVOKE ALL ON ALL TABLES IN SCHEMA :"schema" FROM :"role", PUBLIC;
GRANT USAGE ON SCHEMA :"schema" TO :"role";
GRANT SELECT ON
  :"schema".v_leads_no_pii,
  :"schema".v_clients,
  :"schema".v_speed_to_lead,
  :"schema".v_speed_to_lead_all,
  :"schema".v_gone_leads,
  :"schema".v_erased_leads,
  :"schema".v_undelivered,
  :"schema".v_lead_timeline,
  :"schema".v_sink_health,
  :"schema".v_freshness,
  :"schema".v_services,
  :"schema".v_questions,
  :"schema".polls
TO :"role";
COMMIT;
