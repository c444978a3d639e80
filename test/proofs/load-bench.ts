import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Stub } from '../stub/stub.ts';
import { type Daemon, runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import type { Opened } from '../support/program/tool.ts';
import type { CarrierName } from '../support/scene/scene.ts';
import { startPostgres } from '../support/servers/private-postgres.ts';
import { startRedis } from '../support/servers/private-redis.ts';
import { type CountingReceiver, startCountingReceiver } from './counting-receiver.ts';

/** The most leads in a file. */
export const BATCH = 1_000;
/** So many leads in each of PostgreSQL's transactions are few beside what the webhook takes meanwhile. */
const SLOW_BATCH = 200;

/** leadsync with three sinks, and what is around it. */
export interface Bench {
  readonly daemon: Daemon;
  readonly receiver: CountingReceiver;
  readonly drop: string;
  /** The most that was held until now. */
  readonly peaks: { leadsyncMb: number; redisMb: number; jobs: number };
  /** Runs a command, and gives what it prints. */
  command(...args: string[]): Promise<string>;
  /** Asks the database of the sink. */
  query(sql: string): Promise<Record<string, unknown>[]>;
}

/** Starts all of it in a folder. */
export async function openBench(
  folder: string,
  carrier: CarrierName,
  stub: Stub,
  opened: Opened,
): Promise<Bench> {
  const server = await opened.add(startPostgres, (one) => one.close());
  const redis = carrier === 'bullmq' ? await opened.add(startRedis, (one) => one.close()) : undefined;
  const receiver = await opened.add(startCountingReceiver, (one) => one.close());
  const drop = join(folder, 'drop');
  const config = await writeConfig(folder, {
    sources: {
      main: {
        base_url: stub.url,
        client_id: stub.clientId,
        client_secret: stub.clientSecret,
        poll: { every: '1s' },
      },
    },
    sinks: {
      crm: { type: 'webhook', url: receiver.url, concurrency: 50 },
      drop: { type: 'csv', directory: drop, batch: { max: BATCH, wait: '0s' } },
      warehouse: { type: 'postgres', url: server.url, schema: 'leadsync', batch: { max: SLOW_BATCH } },
    },
    log: { format: 'json', level: 'error' },
    ...(redis ? { queue: { redis_url: redis.url } } : {}),
  });
  const daemon = await opened.add(
    () => startDaemon(config.configFile, config.adminUrl),
    (one) => one.kill('SIGKILL'),
  );
  const client = await opened.add(
    () => new pg.Client({ connectionString: server.url }),
    (one) => one.end(),
  );
  await client.connect();
  const peaks = { leadsyncMb: 0, redisMb: 0, jobs: 0 };
  const redisClient = await opened.add(
    () => redis && new Redis(redis.url),
    (one) => one?.disconnect(),
  );
  await opened.add(
    () => setInterval(() => void look(daemon, redisClient, peaks), 200),
    (watching) => clearInterval(watching),
  );
  return {
    daemon,
    receiver,
    drop,
    peaks,
    command: async (...args) => (await runLeadsync([...args, '-c', config.configFile])).stdout,
    query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
  };
}

/** Notes what leadsync and Redis hold at this moment. */
async function look(daemon: Daemon, redis: Redis | undefined, peaks: Bench['peaks']): Promise<void> {
  peaks.leadsyncMb = Math.max(peaks.leadsyncMb, residentMb(daemon.process.pid));
  // Empty when Redis was closed meanwhile.
  const [info, keys] = await Promise.all([redis?.info('memory'), redis?.keys('*')]).catch(() => []);
  const jobs = (keys ?? []).filter((key) => /:b[0-9a-z]+-\d+$/.test(key)).length;
  peaks.redisMb = Math.max(peaks.redisMb, Number(/used_memory:(\d+)/.exec(info ?? '')?.[1] ?? 0) / 2 ** 20);
  peaks.jobs = Math.max(peaks.jobs, jobs);
}

/** The most memory that the process has ever held, in MB. Linux only. */
function residentMb(pid: number | undefined): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0; // it has ended
  }
}
