/** Where the time comes from, so that tests can hold it. */
export interface Clock {
  /** Wall-clock time: for what is stored and shown. */
  now(): Date;
  /** Milliseconds that only ever grow: for durations and deadlines. */
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, 2 ** 31 - 1));
      signal?.addEventListener('abort', done, { once: true });
    }),
};

/** Gives a number from 0 up to, but not including, 1. */
export type Random = () => number;
