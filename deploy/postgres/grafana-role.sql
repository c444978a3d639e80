-- A user for Grafana: it may ask what the analysts' role may, reads only, and no query of it runs longer than 15 s.
-- After analyst-role.sql, and with the same variables:
--
--   GRAFANA_POSTGRES_PASSWORD=… psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v schema=leadsync -v role=leadsync_analyst -f grafana-role.sql
--
-- Whoever may look at a dashboard may send SQL of their own through its data source: never give Grafana leadsync's user.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema leadsync \endif
\if :{?role} \else \set role leadsync_analyst \endif
\if :{?user} \else \set user grafana \endif
\getenv password GRAFANA_POSTGRES_PASSWORD
SET client_min_messages = warning;
\if :{?password} \else
  DO $$BEGIN RAISE 'GRAFANA_POSTGRES_PASSWORD is not set.'; END$$;
\endif

SELECT format('CREATE ROLE %I LOGIN', :'user')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'user') \gexec

BEGIN;
ALTER ROLE :"user" PASSWORD :'password' CONNECTION LIMIT 10;
ALTER ROLE :"user" SET search_path = :"schema";
ALTER ROLE :"user" SET default_transaction_read_only = on;
ALTER ROLE :"user" SET statement_timeout = '15s';
GRANT :"role" TO :"user";
COMMIT;
