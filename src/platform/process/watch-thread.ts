import { workerData } from 'node:worker_threads';
import type { Watch } from './end-with-parent.ts';

// A thread beside one that SQLite holds for as long as it takes: ends the process when its parent is gone, or when it takes too much
// memory, which SQLite as it is built here does not limit.

const LOOK_MS = 100;

const { parent, limit } = workerData as Watch;

setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  if (limit && process.memoryUsage.rss() > limit.maxBytes) process.kill(process.pid, limit.signal);
}, LOOK_MS);
