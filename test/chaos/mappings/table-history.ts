import type { Scene } from '../../support/scene/scene.ts';

/** What one statement made of a row of the table `leads`. */
export interface WrittenRow {
  readonly source: string;
  readonly lead: string;
  /** When it was written, in ms since 1970. */
  readonly at: number;
  readonly firstSeenAt: number;
  readonly version: number;
  readonly hash: string;
  /** The lead's JSON as received. */
  readonly raw: string;
  /** The columns of fields. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Columns that leadsync writes for every lead, with or without a mapping. */
const OWN = `'{id,source,service_name,service_slug,created_at,client_name,client_email,client_phone_number,client_address,
  all_details_one_liner,service_question_answers,answers}'::text[]`;

/**
 * Makes PostgreSQL keep every state of every row of `leads`, from the moment in which leadsync creates the table. The rows are in a schema of
 * their own.
 */
export async function keepHistory({ query, schema }: Pick<Scene, 'query' | 'schema'>): Promise<void> {
  await query(`
    CREATE SCHEMA history;
    CREATE TABLE history.rows (no bigserial PRIMARY KEY, at timestamptz NOT NULL, source text, lead text, first_seen_at timestamptz,
      version integer, hash text, raw text, fields jsonb);
    CREATE FUNCTION history.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO history.rows (at, source, lead, first_seen_at, version, hash, raw, fields)
      SELECT clock_timestamp(), NEW.source, NEW.id::text, NEW._leadsync_first_seen_at, NEW._leadsync_version,
        NEW._leadsync_hash, coalesce(NEW._leadsync_original, NEW._leadsync_raw::text),
        (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(to_jsonb(NEW) - ${OWN}) WHERE key NOT LIKE '\\_leadsync\\_%');
      RETURN NULL; END $$;
    CREATE FUNCTION history.begin() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      IF to_regclass('${schema}.leads') IS NOT NULL
        AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'history' AND tgrelid = to_regclass('${schema}.leads')) THEN
        CREATE TRIGGER history AFTER INSERT OR UPDATE ON ${schema}.leads FOR EACH ROW EXECUTE FUNCTION history.keep();
      END IF; END $$;
    CREATE EVENT TRIGGER history ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION history.begin()`);
}

/** Returns every state of every row, oldest first. */
export async function readHistory({ query }: Pick<Scene, 'query'>): Promise<WrittenRow[]> {
  return query<WrittenRow>(`SELECT source, lead, extract(epoch FROM at)::float8 * 1000 AS at,
    extract(epoch FROM first_seen_at)::float8 * 1000 AS "firstSeenAt", version, hash, raw, fields FROM history.rows ORDER BY no`);
}
