/** A stop that was asked for from outside. */
export interface StopSignals {
  /** Aborts at the first SIGTERM or SIGINT; its reason is the signal's name. */
  readonly signal: AbortSignal;
  /** Listens no longer. */
  release(): void;
}

/** One Ctrl-C under npm arrives as two SIGINTs, from the terminal and from npm, within this time, in ms. */
const SAME_KEY_PRESS_MS = 500;

/** Calls `reload` at every SIGHUP, which ends the process no longer. */
export function listenForReload(reload: () => void): void {
  process.on('SIGHUP', reload);
}

/** The first signal asks, the second insists: `insist` is called with its name. */
export function listenForStop(insist: (name: NodeJS.Signals) => void): StopSignals {
  const asked = new AbortController();
  let askedAtMs = 0;
  const listener = (name: NodeJS.Signals) => {
    if (!asked.signal.aborted) {
      askedAtMs = performance.now();
      asked.abort(name);
    } else if (name !== 'SIGINT' || performance.now() - askedAtMs > SAME_KEY_PRESS_MS) insist(name);
  };
  const names = ['SIGTERM', 'SIGINT'] as const;
  for (const name of names) process.on(name, listener);
  return {
    signal: asked.signal,
    release: () => {
      for (const name of names) process.off(name, listener);
    },
  };
}
