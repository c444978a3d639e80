import { execFileSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { type PrivatePostgres, startPostgres } from '../test/support/servers/private-postgres.ts';
import { startRedis } from '../test/support/servers/private-redis.ts';
import { until } from '../test/support/time/until.ts';
import { treeCpuMsOf } from './process-use.ts';

/** The benchmark's PostgreSQL and Redis. Each is started when it is first needed. */
export class Servers {
  #database: Promise<Database> | undefined;
  #redis: Promise<BenchRedis> | undefined;

  database(): Promise<Database> {
    this.#database ??= Database.start();
    return this.#database;
  }

  redis(): Promise<BenchRedis> {
    this.#redis ??= BenchRedis.start();
    return this.#redis;
  }

  async close(): Promise<void> {
    const started = [this.#database, this.#redis].filter((server) => server !== undefined);
    await Promise.allSettled(started.map(async (server) => (await server).close()));
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

  static async start(): Promise<Database> {
    const server = await startPostgres({ settings: { fsync: 'on', full_page_writes: 'on' } });
    // PostgreSQL accepts connections before it can serve them.
    const client = await until('PostgreSQL has started', () => connected(server.url));
    return new Database(server, client);
  }

  /** Drops the schemas of the programs and runs a checkpoint, so that each program starts from the same state. */
  async reset(): Promise<void> {
    await this.client.query('DROP SCHEMA IF EXISTS leadsync CASCADE; DROP SCHEMA IF EXISTS plain CASCADE');
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
