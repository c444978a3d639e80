import type { ServerResponse } from 'node:http';

/** Resolves when more may be written to an answer. Also when its reader is gone: then there is nobody to wait for. */
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
