import { randomUUID } from 'node:crypto';

/** Maximum number of confirmations whose results are kept. A further one drops the oldest. */
const MAX_KEPT = 1_000;
/** Name of the hidden field that identifies a confirmation. */
const FIELD = 'once';

/**
 * Ensures that a confirmed form acts only once, however often the browser sends it: after a double click without scripts, a reload during a slow
 * answer, or a timeout at a proxy. Each question has a hidden field with a unique value. Forms with the same value share one action and its
 * result.
 */
export class IdempotentSubmit<Result> {
  readonly #results = new Map<string, Promise<Result>>();

  /** Returns the hidden field for a new question. */
  field(): readonly [name: string, value: string] {
    return [FIELD, randomUUID()];
  }

  /** Acts, or returns the result of the first form with this value. A form whose action failed may be sent again. */
  run(sent: { get(name: string): string | undefined | null }, act: () => Promise<Result>): Promise<Result> {
    const key = sent.get(FIELD);
    if (!key) return act();
    const known = this.#results.get(key);
    if (known) return known;
    const running = act();
    this.#results.set(key, running);
    running.catch(() => this.#results.delete(key)); // the caller gets the error
    const [oldest] = this.#results.keys();
    if (oldest !== undefined && this.#results.size > MAX_KEPT) this.#results.delete(oldest);
    return running;
  }
}
