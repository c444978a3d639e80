import type { ClientBase, Pool } from 'pg';

/** The options of a pool of connections to PostgreSQL. */
export interface PoolOptions {
  readonly address: string;
  /** Maximum number of connections. */
  readonly connections: number;
  /** Maximum time to wait for a connection, in ms. */
  readonly connectMs: number;
  /** The name that PostgreSQL shows for the connections. */
  readonly applicationName: string;
  /** Prepares each new connection before its first use. If it throws, the connection is closed, and the call that asked for it fails with this error. */
  readonly prepare?: ((client: ClientBase) => Promise<void>) | undefined;
  /** Whether `bigint` columns are read as numbers, which are exact up to 2^53. Otherwise they are read as text. */
  readonly bigintAsNumber?: boolean | undefined;
}

/** How long a connection is silent before it is checked, in ms. By default, Linux waits two hours until it notices a server that is gone. */
const KEEP_ALIVE_MS = 10_000;
/** The type `bigint`, by its OID in pg_type. */
const BIGINT = 20;

/** Opens a pool that connects when it is used. The pool replaces connections that break. Loads the driver when it is first called. */
export async function openPool(options: PoolOptions): Promise<Pool> {
  const { address, connections, connectMs, applicationName, prepare, bigintAsNumber = false } = options;
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    connectionString: address,
    max: connections,
    connectionTimeoutMillis: connectMs,
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...(prepare && { onConnect: prepare }),
    ...(bigintAsNumber && {
      types: {
        getTypeParser: (type: number, format?: 'text' | 'binary') =>
          type === BIGINT ? Number : pg.types.getTypeParser(type, format),
      },
    }),
  });
  // The pool replaces an idle connection that breaks. For any other connection, the next query reports the error. The server can accept
  // and end a connection in the same packet, so the listener is added before any caller gets the connection. Without a listener, Node.js
  // would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool.on('error', () => undefined);
}

/** Returns the host and port of a server's address, without the user and password. */
export function hostOf(address: string): string {
  const url = new URL(address);
  return url.host || url.searchParams.get('host') || 'its default address';
}
