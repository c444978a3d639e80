/** The terminal and npm each send the same Ctrl-C; a second one within this time is not somebody insisting. */
const SAME_KEY_MS = 500;

/** Turns signals into a wish to stop: the first asks, a later one insists. */
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
