/** A stop that was asked for from outside. */
export interface StopSignals {
  /** Aborts at the first signal to stop; its reason is the signal's name. */
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

/**
 * The first SIGTERM, SIGINT or SIGHUP asks for a stop; the second insists: `insist` is called with its name. SIGHUP never insists:
 * both the shell and the kernel send one when a terminal is closed. With `hangup: 'reloads'`, SIGHUP is left to `listenForReload`.
 */
export function listenForStop(
  insist: (name: NodeJS.Signals) => void,
  { hangup = 'stops' }: { readonly hangup?: 'stops' | 'reloads' } = {},
): StopSignals {
  const asked = new AbortController();
  let askedAtMs = 0;
  const listener = (name: NodeJS.Signals) => {
    if (!asked.signal.aborted) {
      askedAtMs = performance.now();
      asked.abort(name);
    } else if (name === 'SIGTERM' || (name === 'SIGINT' && performance.now() - askedAtMs > SAME_KEY_PRESS_MS))
      insist(name);
  };
  const names: readonly NodeJS.Signals[] =
    hangup === 'stops' ? ['SIGTERM', 'SIGINT', 'SIGHUP'] : ['SIGTERM', 'SIGINT'];
  for (const name of names) process.on(name, listener);
  return {
    signal: asked.signal,
    release: () => {
      for (const name of names) process.off(name, listener);
    },
  };
}
