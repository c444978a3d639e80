import { workerData } from 'node:worker_threads';

// A thread beside a query, which holds its own thread for as long as it takes: ends the process when whoever asked is gone.

const LOOK_MS = 500;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
}, LOOK_MS);
