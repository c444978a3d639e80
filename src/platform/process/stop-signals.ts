/** The signals by which an operator or supervisor stops the process. */
export interface StopSignals {
  /** Aborts at the first such signal, with the signal's name as the reason. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  release(): void;
}

/** Maximum time, in ms, between two SIGINTs that come from one Ctrl-C: under npm, both the terminal and npm send one. */
const SAME_KEY_PRESS_MS = 500;

/** Calls `reload` at every SIGHUP, which then no longer ends the process. */
export function listenForReload(reload: () => void): void {
  process.on('SIGHUP', reload);
}

/**
 * Listens for stop signals. The first SIGTERM, SIGINT or SIGHUP aborts the returned signal. Each later SIGTERM or SIGINT calls `insist`
 * with its name, except a SIGINT from the same key press. SIGHUP never calls `insist`, because both the shell and the kernel send one when
 * a terminal closes. With `hangup: 'reloads'`, ignores SIGHUP and leaves it to `listenForReload`.
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
