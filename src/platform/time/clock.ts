/** The source of time. Tests replace it. */
export interface Clock {
  /** Returns the wall-clock time, for times that are stored or shown. */
  now(): Date;
  /** Returns monotonic time in ms, for durations and deadlines. */
  monotonicMs(): number;
  /** Resolves after `ms`, or immediately when the signal aborts or the time has passed already. Never rejects. */
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
      const timer = setTimeout(done, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
      signal?.addEventListener('abort', done, { once: true });
    }),
};

/** Returns a random number from 0 up to, but not including, 1. */
export type Random = () => number;
