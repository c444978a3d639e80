/** Lets an operator end a source's wait for its next poll. */
export class PollRequest {
  #waiting: AbortController | undefined;

  /** Ends the wait, so that a poll begins now. Returns false if the source is not waiting, because a poll is in progress. */
  pollNow(): boolean {
    this.#waiting?.abort();
    return this.#waiting !== undefined;
  }

  /** Runs `wait` until it resolves. A poll request or `signal` aborts the signal that `wait` receives. */
  async wait(wait: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    // Not `AbortSignal.any`: `signal` lasts as long as leadsync, and there is a wait for every poll.
    const stop = () => waiting.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    this.#waiting = waiting;
    try {
      await wait(waiting.signal);
    } finally {
      this.#waiting = undefined;
      signal.removeEventListener('abort', stop);
    }
  }
}
