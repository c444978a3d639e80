import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** How much memory a process may take, and the signal by which it ends itself when it takes more. */
export interface MemoryLimit {
  readonly maxBytes: number;
  readonly signal: NodeJS.Signals;
}

/** What the thread beside such a process is told. */
export interface Watch {
  readonly parent: number;
  readonly limit: MemoryLimit | undefined;
}

/**
 * Ends this process when its parent, which nobody else works for, is gone, also when that is killed. SQLite does not let this thread
 * look up while it works, so another thread looks. `parent` is told by the parent itself: it may be gone before this process asks.
 */
export function endWithParent(parent: number, limit?: MemoryLimit): void {
  const file = new URL(`./watch-thread${extname(import.meta.url)}`, import.meta.url);
  // With streams of its own: passing them on would make our standard output one that does not wait for its reader.
  new Worker(file, {
    workerData: { parent, limit } satisfies Watch,
    execArgv: [],
    stdout: true,
    stderr: true,
  }).unref();
}
