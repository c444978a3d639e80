-- Creates a user for a tool that only reads (Grafana, Metabase), with the rights of the analyst role. By default its sessions are
-- read-only and cancel a statement after 15 s, but a session can change both with SET. Set a limit that sessions cannot change
-- elsewhere, for example in a connection pooler. Run it after analyst-role.sql, with the same schema and role:
--
--   READER_PASSWORD=… psql "$DATABASE_URL" -v schema=leadsync -v role=leadsync_analyst -v user=grafana -f reader-login.sql
--
-- Run it again to change the password. A user who can view a dashboard can send any SQL through its data source, so never give
-- such a tool leadsync's own user.
--
-- By default, every PostgreSQL user can create temporary tables, and so fill the disk. -v no_temp=on revokes that right from
-- PUBLIC, which requires the owner of the database or a superuser. This affects every user of the database. leadsync needs no
-- temporary tables; for a user that does, run: GRANT TEMPORARY ON DATABASE … TO that_user;

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema leadsync \endif
\if :{?role} \else \set role leadsync_analyst \endif
\if :{?user} \else \set user leadsync_reader \endif
\if :{?no_temp} \else \set no_temp off \endif
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

\if :no_temp
  SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()) \gexec
  SELECT has_database_privilege(:'user', current_database(), 'TEMPORARY') AS may_still \gset
  \if :may_still
    DO $$BEGIN RAISE 'The user can still create temporary tables. Run this as the owner of the database, and revoke TEMPORARY from its other roles.'; END$$;
  \endif
\endif
