import { workerData } from 'node:worker_threads';

// A thread beside a query, which holds its own thread for as long as it takes: ends the process when whoever asked is gone, or when
// it takes too much memory, which SQLite as it is built here does not limit.

const LOOK_MS = 100;

const { parent, maxBytes, signal } = workerData as {
  parent: number;
  maxBytes: number;
  signal: NodeJS.Signals;
};

setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  if (process.memoryUsage.rss() > maxBytes) process.kill(process.pid, signal);
}, LOOK_MS);
