import pg from 'pg';
import type { z } from 'zod';
import { PostgresSink } from '../../../src/sinks/postgres/postgres.ts';
import { postgres } from '../../../src/sinks/postgres/postgres-type.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { requireDatabaseUrl, uniqueName } from '../../support/servers/services.ts';
import { someParts } from '../some-parts.ts';

type Row = Record<string, unknown>;

/** A schema of a test's own, and a way to look into it. */
export interface Database {
  readonly url: string;
  readonly schema: string;
  /** Runs SQL with the schema as search_path. */
  query(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Drops the schema. */
  close(): Promise<void>;
}

/** Returns a database whose schema does not exist until the sink or a test creates it. */
export function startDatabase(): Database {
  const url = requireDatabaseUrl();
  const schema = uniqueName('sink');
  const pool = new pg.Pool({ connectionString: url, max: 2, options: `-c search_path=${schema}` });
  return {
    url,
    schema,
    query: async (sql, values) => (await pool.query(sql, values)).rows,
    close: async () => {
      await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await pool.end();
    },
  };
}

/** Opens a PostgreSQL sink from options as they stand in the YAML. */
export function openPostgres(
  options: z.input<typeof postgres.options>,
  parts: Partial<SinkParts> = {},
): Sink {
  return new PostgresSink(postgres.options.parse(options), someParts({ batchMax: 1000, ...parts }));
}
