/** The deadline has passed. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/** A scheduled call. */
export interface Timer {
  /** Prevents the call, if it has not been made. */
  cancel(): void;
}

/**
 * Calls `act` after `ms` milliseconds, after reading the data that has arrived by then. A process that was busy at that time would otherwise discard
 * an answer that is waiting in the socket: Node calls due timers before it reads sockets
 * (https://nodejs.org/en/learn/asynchronous-work/event-loop-timers-and-nexttick).
 */
export function afterReading(ms: number, act: () => void): Timer {
  let immediate: NodeJS.Immediate | undefined;
  const timeout = setTimeout(() => {
    immediate = setImmediate(act);
  }, ms);
  return {
    cancel: () => {
      clearTimeout(timeout);
      clearImmediate(immediate);
    },
  };
}

/**
 * Returns the result of `work`, which may take up to `ms` milliseconds. Aborts the signal of `work` at the deadline, or when `stop` aborts.
 * If `work` ignores its signal, it continues, and its result and errors are discarded.
 * @throws DeadlinePassed, the reason of `stop`, or an earlier error of `work`
 */
export async function withinDeadline<T>(
  ms: number,
  stop: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  stop.throwIfAborted();
  const controller = new AbortController();
  const { signal } = controller;
  const passOn = () => controller.abort(stop.reason);
  stop.addEventListener('abort', passOn, { once: true });
  const timer = afterReading(ms, () => controller.abort(new DeadlinePassed()));
  const ended = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => ended.reject(signal.reason), { once: true });
  try {
    return await Promise.race([work(signal), ended.promise]);
  } catch (error) {
    // Work that obeys its signal may throw an error of its own.
    throw signal.aborted ? signal.reason : error;
  } finally {
    timer.cancel();
    stop.removeEventListener('abort', passOn);
  }
}
