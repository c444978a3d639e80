/** The time that was allowed is over. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/**
 * Gives `work` so many ms, and ends it earlier when `stop` aborts. `work` is handed a signal; when it does not listen
 * to it, it is left to itself, and whatever becomes of it is not reported.
 * @throws DeadlinePassed, or the reason of `stop`, or what `work` throws before either
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
    // Work that does listen may say it in words of its own.
    throw signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', passOn);
  }
}
