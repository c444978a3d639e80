import type { ServerResponse } from 'node:http';

/** Resolves when more may be written to a response, or when its reader is gone and waiting is pointless. */
export function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.once('drain', done);
    res.once('close', done);
  });
}
