import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisPlace } from '../../../src/delivery/options.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { noteProcess } from '../program/run-folder.ts';
import { until } from '../time/until.ts';
import { findRedis, type PrivateRedis, startRedis } from './private-redis.ts';
import { ended, freePort, reachable, stopProcess } from './server-process.ts';

const MASTER = 'leads';

/** A Redis with a replica, and three sentinels that watch them, on loopback. */
export interface TestSentinels {
  readonly place: Extract<RedisPlace, { kind: 'sentinel' }>;
  readonly master: PrivateRedis;
  readonly replica: PrivateRedis;
  readonly sentinels: readonly { readonly port: number; readonly process: ChildProcess }[];
  /** Returns the port of the master that the sentinels name at this moment. */
  masterPort(): Promise<number>;
  close(): Promise<void>;
}

/** Starts the servers; each requires the password. The sentinels replace a silent master after 2 s. */
export async function startSentinels(passwords: { redis: string; sentinel: string }): Promise<TestSentinels> {
  const login = ['--requirepass', passwords.redis, '--masterauth', passwords.redis];
  const master = await startRedis({ args: login });
  const replica = await startRedis({ args: [...login, '--replicaof', '127.0.0.1', String(master.port)] });
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-sentinels-'));
  const sentinels = await Promise.all(
    ['one', 'two', 'three'].map((name) => startSentinel(folder, name, master.port, passwords)),
  );
  const ask = async <T>(port: number, password: string, use: (redis: Redis) => Promise<T>) => {
    const redis = new Redis(port, '127.0.0.1', { password });
    redis.on('error', () => undefined); // the command rejects
    try {
      return await use(redis);
    } finally {
      redis.disconnect();
    }
  };
  const close = async () => {
    await Promise.all(sentinels.map(({ process }) => stopProcess(process, 'SIGTERM')));
    await Promise.all([master.close(), replica.close()]);
    rmSync(folder, { recursive: true, force: true });
  };
  const askSentinel = <T>(port: number, use: (redis: Redis) => Promise<T>) =>
    ask(port, passwords.sentinel, use);
  try {
    await until('the sentinels know each other and the replica', async () => {
      const answers = await Promise.all(
        sentinels.map(({ port }) => askSentinel(port, (redis) => redis.info('sentinel'))),
      );
      return answers.every((info) => /status=ok.*slaves=1,sentinels=3/.test(info));
    });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    place: {
      kind: 'sentinel',
      sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
      master: MASTER,
      login: { username: undefined, password: new Secret(passwords.redis) },
      sentinelLogin: { username: undefined, password: new Secret(passwords.sentinel) },
      tls: undefined,
      addresses: {},
    },
    master,
    replica,
    sentinels,
    masterPort: async () => {
      const [first] = sentinels;
      const answer = await askSentinel(first?.port ?? 0, (redis) =>
        redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER),
      );
      return Number((answer as string[])[1]);
    },
    close,
  };
}

async function startSentinel(
  folder: string,
  name: string,
  masterPort: number,
  passwords: { redis: string; sentinel: string },
) {
  const binary = findRedis();
  if (binary === undefined) throw new Error('redis-server is not installed.');
  const port = await freePort();
  const file = join(folder, `${name}.conf`);
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `requirepass ${passwords.sentinel}`,
    `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 2`,
    `sentinel auth-pass ${MASTER} ${passwords.redis}`,
    `sentinel down-after-milliseconds ${MASTER} 2000`,
    `sentinel failover-timeout ${MASTER} 6000`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  const child = spawn(binary, [file, '--sentinel'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  noteProcess(child);
  await Promise.race([reachable(port), ended(child, 'redis-sentinel')]);
  return { port, process: child };
}
