import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteProcess } from '../program/run-folder.ts';
import { ended, firstExecutable, freePort, reachable, stopProcess } from './server-process.ts';

/** An empty Redis on loopback for one test. */
export interface PrivateRedis {
  readonly url: string;
  readonly port: number;
  /** The process, for signals such as SIGSTOP and SIGCONT. */
  readonly process: ChildProcess;
  /** Kills the server; its data is lost. */
  crash(): Promise<void>;
  /** Starts the server again on its port, empty, after a crash. */
  restart(): Promise<void>;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

/** Returns the path of redis-server, or undefined. */
export function findRedis(): string | undefined {
  return firstExecutable('redis-server', ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']);
}

/** Starts a Redis on a free port, or on `port` to replace one that ended. @throws Error if there is none or it does not start */
export async function startRedis(
  options: { port?: number; args?: readonly string[] } = {},
): Promise<PrivateRedis> {
  const binary = findRedis();
  if (binary === undefined) throw new Error('redis-server is not installed.');
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-redis-'));
  const port = options.port ?? (await freePort());
  const settings = [
    '--bind',
    '127.0.0.1',
    '--port',
    String(port),
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const start = () => {
    const args = [...settings, '--maxmemory-policy', 'noeviction', ...(options.args ?? [])];
    const server = spawn(binary, args, { stdio: ['ignore', 'ignore', 'inherit'], detached: true });
    noteProcess(server);
    return server;
  };
  const redis = {
    url: `redis://127.0.0.1:${port}`,
    port,
    process: start(),
    crash: () => stopProcess(redis.process, 'SIGKILL'),
    restart: async () => {
      redis.process = start();
      await Promise.race([reachable(port), ended(redis.process, 'redis-server')]);
    },
    close: async () => {
      redis.process.kill('SIGCONT');
      await stopProcess(redis.process, 'SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await Promise.race([reachable(port), ended(redis.process, 'redis-server')]);
  } catch (error) {
    await redis.close();
    throw error;
  }
  return redis;
}
