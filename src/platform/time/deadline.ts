/** The deadline has passed. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
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
  const timer = setTimeout(() => controller.abort(new DeadlinePassed()), ms);
  const ended = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => ended.reject(signal.reason), { once: true });
  try {
    return await Promise.race([work(signal), ended.promise]);
  } catch (error) {
    // Work that obeys its signal may throw an error of its own.
    throw signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', passOn);
  }
}
