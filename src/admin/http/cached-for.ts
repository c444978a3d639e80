/**
 * Returns a function that calls `work` at most once per `ms` and returns its cached result in between. Concurrent callers share one
 * call (single flight). The function caches a rejection as well, so that frequent callers cost no more while `work` fails.
 */
export function cachedFor<Value>(
  ms: number,
  work: () => Promise<Value>,
  monotonicMs: () => number,
): () => Promise<Value> {
  let current: Promise<Value> | undefined;
  let freshUntilMs = 0;
  return () => {
    if (current !== undefined && monotonicMs() < freshUntilMs) return current;
    const started = (async () => work())();
    const settle = () => {
      freshUntilMs = monotonicMs() + ms;
    };
    freshUntilMs = Number.POSITIVE_INFINITY;
    started.then(settle, settle);
    current = started;
    return started;
  };
}
