import { execFileSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { type PrivatePostgres, startPostgres } from '../test/support/servers/private-postgres.ts';
import { startRedis } from '../test/support/servers/private-redis.ts';
import { until } from '../test/support/time/until.ts';
import { treeCpuMsOf } from './process-use.ts';

/** The schema of ledgers on the benchmark's PostgreSQL. */
export const LEDGER_SCHEMA = 'leadsync_ledger';

/** The benchmark's PostgreSQL and Redis. Each is started when it is first needed. */
export class Servers {
  #database: Promise<Database> | undefined;
  #counting: Promise<Database | undefined> | undefined;
  #redis: Promise<BenchRedis> | undefined;

  database(): Promise<Database> {
    this.#database ??= Database.start();
    return this.#database;
  }

  /** A PostgreSQL that counts statements, which costs time; undefined if it is installed without `pg_stat_statements`. */
  counting(): Promise<Database | undefined> {
    this.#counting ??= Database.startCounting();
    return this.#counting;
  }

  redis(): Promise<BenchRedis> {
    this.#redis ??= BenchRedis.start();
    return this.#redis;
  }

  async close(): Promise<void> {
    const started = [this.#database, this.#counting, this.#redis].filter((server) => server !== undefined);
    await Promise.allSettled(started.map(async (server) => (await server)?.close()));
  }
}

/** A PostgreSQL with default settings. Unlike that of the tests, it syncs every commit to the disk. */
class Database {
  readonly url: string;
  readonly client: Client;
  readonly #server: PrivatePostgres;

  private constructor(server: PrivatePostgres, client: Client) {
    this.url = server.url;
    this.client = client;
    this.#server = server;
  }

  static async startCounting(): Promise<Database | undefined> {
    try {
      const database = await Database.start({ shared_preload_libraries: 'pg_stat_statements' });
      await database.client.query('CREATE EXTENSION pg_stat_statements');
      return database;
    } catch {
      return undefined; // the library is a package of its own on some systems
    }
  }

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<Database> {
    const server = await startPostgres({ settings: { fsync: 'on', full_page_writes: 'on', ...settings } });
    // PostgreSQL accepts connections before it can serve them.
    const client = await until('PostgreSQL has started', () => connected(server.url));
    return new Database(server, client);
  }

  /** Drops the schemas of the programs and of ledgers, and runs a checkpoint, so that each program starts from the same state. */
  async reset(): Promise<void> {
    for (const schema of ['leadsync', LEDGER_SCHEMA, 'plain'])
      await this.client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await this.client.query('CHECKPOINT');
  }

  /** Returns the number of rows of a table; 0 if it does not exist. */
  async count(table: string): Promise<number> {
    const { rows } = await this.client.query('SELECT to_regclass($1) IS NOT NULL AS there', [table]);
    if (!rows[0].there) return 0;
    return Number((await this.client.query(`SELECT count(*) FROM ${table}`)).rows[0].count);
  }

  /** Returns the size of the programs' tables with their indexes on disk, in MB. */
  async sizeMb(): Promise<number> {
    const { rows } = await this.client.query(
      `SELECT coalesce(sum(pg_total_relation_size(oid)), 0) AS bytes FROM pg_class
       WHERE relkind = 'r' AND relnamespace IN (to_regnamespace('leadsync'), to_regnamespace('plain'))`,
    );
    return Number(rows[0].bytes) / 1024 / 1024;
  }

  /** Returns the CPU time of all processes of the server since its start, in ms. */
  cpuMs(): number {
    return treeCpuMsOf(this.#server.process.pid);
  }

  /** Returns the amount of write-ahead log since the cluster was created, in MB. */
  async writtenAheadMb(): Promise<number> {
    const { rows } = await this.client.query("SELECT pg_current_wal_lsn() - '0/0' AS bytes");
    return Number(rows[0].bytes) / 1024 / 1024;
  }

  /** Returns the number of transactions that clients have committed since the start of the server, once their sessions have ended. */
  async transactions(): Promise<number> {
    const { rows } = await this.client.query(
      'SELECT xact_commit AS commits FROM pg_stat_database WHERE datname = current_database()',
    );
    return Number(rows[0].commits);
  }

  /** Returns the number of statements that clients have run since the last reset, if the server counts them. */
  async statements(): Promise<number> {
    const { rows } = await this.client.query('SELECT sum(calls) AS calls FROM pg_stat_statements');
    return Number(rows[0].calls);
  }

  async version(): Promise<string> {
    const { rows } = await this.client.query('SHOW server_version');
    return `PostgreSQL ${String(rows[0].server_version).split(' ')[0]}`;
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.#server.close();
  }
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** A Redis that stores nothing on disk. */
class BenchRedis {
  readonly url: string;
  readonly #client: Redis;
  readonly #stop: () => Promise<void>;

  private constructor(url: string, client: Redis, stop: () => Promise<void>) {
    this.url = url;
    this.#client = client;
    this.#stop = stop;
  }

  static async start(): Promise<BenchRedis> {
    const server = await startRedis();
    return new BenchRedis(server.url, new Redis(server.url), server.close);
  }

  async reset(): Promise<void> {
    await this.#client.flushall();
  }

  /** Returns the memory that Redis uses (`used_memory`), in MB. */
  async usedMb(): Promise<number> {
    return Number(/used_memory:(\d+)/.exec(await this.#client.info('memory'))?.[1] ?? 0) / 1024 / 1024;
  }

  async version(): Promise<string> {
    return `Redis ${/redis_version:(\S+)/.exec(await this.#client.info('server'))?.[1]}`;
  }

  async close(): Promise<void> {
    this.#client.disconnect();
    await this.#stop();
  }
}

/** Writes dirty pages of all programs to the disk, so that this does not happen during a measurement. */
export function settleDisk(): void {
  execFileSync('sync');
}
