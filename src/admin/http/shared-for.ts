/**
 * Runs work at most once per `ms`: callers in between share the answer, and callers while it is under way share the
 * wait. A failure is shared alike, so that asking often costs no more when it goes wrong.
 */
export function sharedFor<Value>(
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
