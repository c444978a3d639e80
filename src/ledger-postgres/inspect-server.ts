import type { PoolClient } from 'pg';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import { liveProcessesIn } from './database/live-processes.ts';
import { requireEmpty, shapeIn } from './database/migrating.ts';
import { PostgresAccess, type PostgresPlace } from './database/postgres-access.ts';
import { requireSuitable, type ServerFacts } from './database/suitable-server.ts';
import { POWERS } from './query-session.ts';
import { migrations } from './schema/schema.ts';

/** Number of times that the round trip is measured. */
const ROUND_TRIPS = 5;

/** What a server says about itself, and whether it has the ledger. */
export interface ServerFinding extends ServerFacts {
  readonly exists: boolean;
  /** Whether an older leadsync wrote the ledger, so that the next start upgrades it. */
  readonly isOlder: boolean;
  /** The processes that work on the ledger; undefined if there are none. */
  readonly inUseBy: string | undefined;
  /** Which rights of the user reach beyond the database, such as "a superuser"; null if none do. */
  readonly powers: string | null;
  /** How long the server took to answer, in ms: the shortest of several times, so that a busy moment does not count. */
  readonly roundTripMs: number;
}

/**
 * Finds out whether the ledger exists, and whether the server can hold it. Changes nothing.
 * @throws LedgerError if the server cannot be reached, cannot hold a ledger, does not let the user create one, or has something else in its place
 */
export async function inspectServer(place: PostgresPlace): Promise<ServerFinding> {
  const access = await PostgresAccess.open(place);
  try {
    const finding = access.prepare(async (client) => {
      const facts = await requireSuitable(client, access.where);
      const roundTripMs = await roundTripOf(client);
      const shape = await shapeIn(client, access.where, place.schema);
      const { rows } = await client.query<{ powers: string | null }>(`SELECT ${POWERS} AS powers`);
      const found = { ...facts, roundTripMs, powers: rows[0]?.powers ?? null };
      if (shape !== undefined)
        return {
          ...found,
          exists: true,
          isOlder: shape < migrations.length,
          inUseBy: await liveProcessesIn(client),
        };
      await requireRoom(client, access.where, place.schema);
      return { ...found, exists: false, isOlder: false, inUseBy: undefined };
    });
    // A second connection shows a pooler, which lets both use the same session.
    const second = access.prepare(async () => undefined);
    return (await Promise.all([finding, second]))[0];
  } finally {
    await access.close();
  }
}

async function roundTripOf(client: PoolClient): Promise<number> {
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let asked = 0; asked < ROUND_TRIPS; asked += 1) {
    const from = performance.now();
    await client.query('SELECT 1');
    shortestMs = Math.min(shortestMs, performance.now() - from);
  }
  return shortestMs;
}

/** Requires that the user may create the ledger, in a schema that is missing or empty. @throws LedgerError */
export async function requireRoom(client: PoolClient, where: string, schema: string): Promise<void> {
  await requireEmpty(client, where, schema);
  const { rows } = await client.query<{ user: string; database: string; may: boolean }>(RIGHTS, [schema]);
  const { user, database, may } = rows[0] as { user: string; database: string; may: boolean };
  if (may) return;
  throw new LedgerError(
    'rights',
    `The user ${user} may not create the schema ${schema}, or tables in it, in the database ${database} of ${where}.`,
    `As an administrator of the database, run: CREATE SCHEMA IF NOT EXISTS "${schema}" AUTHORIZATION "${user}"`,
  );
}

const RIGHTS = `SELECT current_user AS user, current_database() AS database, CASE
  WHEN EXISTS (SELECT 1 FROM pg_namespace n WHERE n.nspname = $1) THEN has_schema_privilege($1, 'CREATE')
  ELSE has_database_privilege(current_database(), 'CREATE') END AS may`;
