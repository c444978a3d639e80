import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** The maximum memory of a process, and the signal that the process sends to itself when it exceeds this maximum. */
export interface MemoryLimit {
  readonly maxBytes: number;
  readonly signal: NodeJS.Signals;
}

/** What `endWithParent` passes to the watchdog thread. */
export interface WatchdogData {
  readonly parent: number;
  readonly limit: MemoryLimit | undefined;
}

/**
 * Ends this process when its parent has ended, even if the parent was killed, or when this process exceeds `limit`. A separate thread
 * checks this, because SQLite blocks this thread while it works. `parent` is the parent's process id, passed by the parent, because the
 * parent may end before this process could ask the system for the id.
 */
export function endWithParent(parent: number, limit?: MemoryLimit): void {
  const file = new URL(`./watchdog-thread${extname(import.meta.url)}`, import.meta.url);
  // With separate streams: a worker that inherits ours would make our standard output asynchronous.
  new Worker(file, {
    workerData: { parent, limit } satisfies WatchdogData,
    execArgv: [],
    stdout: true,
    stderr: true,
  }).unref();
}
