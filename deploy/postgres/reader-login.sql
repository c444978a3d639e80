-- Makes a user for a tool that only looks (Grafana, Metabase): it may ask what the analysts' role may, reads only
-- and is cut off after 15 s by default: both are defaults of the user, which a session of its own may change. After analyst-role.sql, and with the same schema and role:
--
--   READER_PASSWORD=… psql "$DATABASE_URL" -v schema=leadsync -v role=leadsync_analyst -v user=grafana -f reader-login.sql
--
-- Again: the password is changed. Whoever may look at a dashboard may send SQL of their own through its data source, so
-- never give such a tool leadsync's own user.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema leadsync \endif
\if :{?role} \else \set role leadsync_analyst \endif
\if :{?user} \else \set user leadsync_reader \endif
\getenv password READER_PASSWORD
SET client_min_messages = warning;
\if :{?password} \else
  DO $$BEGIN RAISE 'READER_PASSWORD is not set.'; END$$;
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
