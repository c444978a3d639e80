-- Lets analysts ask leadsync's schema what holds no personal data, and nothing else of it. Run it as the schema's owner or
-- a superuser, once leadsync has delivered there, and again after an upgrade:
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v schema=leadsync -v role=leadsync_analyst -f analyst-role.sql
--
-- It makes the role (which cannot log in) where it is missing. Then: GRANT leadsync_analyst TO somebody;
-- Views are read with the rights of their owner, so the tables behind them stay closed.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema leadsync \endif
\if :{?role} \else \set role leadsync_analyst \endif

SELECT format('CREATE ROLE %I NOLOGIN', :'role')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec

BEGIN;
-- What an earlier hand may have granted.
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
