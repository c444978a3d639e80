import { workerData } from 'node:worker_threads';
import type { WatchdogData } from './end-with-parent.ts';

// The watchdog thread of a process whose main thread SQLite may block: ends the process when its parent has ended, or when the process
// exceeds its memory limit, since this build of SQLite cannot limit memory.

const CHECK_MS = 100;

const { parent, limit } = workerData as WatchdogData;

setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  if (limit && process.memoryUsage.rss() > limit.maxBytes) process.kill(process.pid, limit.signal);
}, CHECK_MS);
