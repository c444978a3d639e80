import { statfsSync } from 'node:fs';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import type { Machine } from './report/report.ts';
import type { Servers } from './servers.ts';

/** File systems by their magic numbers (https://www.man7.org/linux/man-pages/man2/statfs.2.html). */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  16914836: 'tmpfs (in memory: no write waits for a disk)',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  2035054128: 'overlayfs',
};

/** Describes this machine, its servers, and the file system of the benchmark's folder. */
export async function describeMachine(folder: string, servers: Servers): Promise<Machine> {
  const [database, redis] = [await servers.database(), await servers.redis()];
  return {
    cpu: cpus()[0]?.model.trim() ?? 'an unknown processor',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()} ${arch()}`,
    node: process.versions.node,
    postgres: await database.version(),
    redis: await redis.version(),
    disk: FILE_SYSTEMS[statfsSync(folder).type] ?? 'an unknown file system',
  };
}
