/** The terminal and npm both send a signal for one Ctrl-C. A second signal within this time is the same key press. */
const SAME_KEY_MS = 500;

/** Resolves `asked` at the first signal to stop, and calls `insist` at a later one. */
export class StopRequest {
  readonly asked: Promise<void>;
  #askedAt: number | undefined;

  constructor(insist: () => void) {
    this.asked = new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
        process.on(signal, () => {
          const now = performance.now();
          if (this.#askedAt !== undefined && now - this.#askedAt > SAME_KEY_MS) insist();
          this.#askedAt ??= now;
          resolve();
        });
      }
    });
  }
}
