/** A stop that was asked for from outside. */
export interface StopSignals {
  /** Aborts at the first SIGTERM or SIGINT; its reason is the signal's name. */
  readonly signal: AbortSignal;
  /** Listens no longer. */
  release(): void;
}

/** The first signal asks, the second insists: `insist` is called with its name. */
export function listenForStop(insist: (name: NodeJS.Signals) => void): StopSignals {
  const asked = new AbortController();
  const names = ['SIGTERM', 'SIGINT'] as const;
  const listener = (name: NodeJS.Signals) => (asked.signal.aborted ? insist(name) : asked.abort(name));
  for (const name of names) process.on(name, listener);
  return {
    signal: asked.signal,
    release: () => {
      for (const name of names) process.off(name, listener);
    },
  };
}
