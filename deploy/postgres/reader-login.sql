-- Makes a user for a tool that only looks (Grafana, Metabase). It may ask what the analysts' role may. By default its sessions
-- only read and cancel a statement after 15 s; both are defaults that a session may change with SET. A limit that holds has to be
-- set outside, in a pooler for example. Run it after analyst-role.sql, with the same schema and role:
--
--   READER_PASSWORD=… psql "$DATABASE_URL" -v schema=leadsync -v role=leadsync_analyst -v user=grafana -f reader-login.sql
--
-- Again: the password is changed. Whoever may look at a dashboard may send SQL of their own through its data source, so
-- never give such a tool leadsync's own user.
--
-- PostgreSQL lets everybody create temporary tables, and so fill the disk. -v no_temp=on takes that right from PUBLIC, which
-- needs the database's owner or a superuser. It concerns everybody in this database: leadsync needs no temporary tables, and
-- for those who do: GRANT TEMPORARY ON DATABASE … TO somebody;

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
    DO $$BEGIN RAISE 'The user may still create temporary tables. Run this as the owner of the database, and revoke TEMPORARY from its other roles.'; END$$;
  \endif
\endif
