import type { Duties, Duty } from '../../../src/daemon/joints/duties.ts';

/** Duties that a test gives to a process and takes from it. */
export class GivenDuties implements Duties {
  /** By duty: takes it from the process. */
  readonly #held = new Map<Duty, AbortController>();
  /** By duty: loops that wait for it. */
  readonly #waiting = new Map<Duty, Set<() => void>>();

  constructor(...duties: readonly Duty[]) {
    this.give(...duties);
  }

  async take(duty: Duty, signal: AbortSignal): Promise<AbortSignal | undefined> {
    for (;;) {
      const held = this.#held.get(duty);
      if (signal.aborted) return undefined;
      if (held) return held.signal;
      await this.#given(duty, signal);
    }
  }

  give(...duties: readonly Duty[]): void {
    for (const duty of duties) {
      this.#held.set(duty, new AbortController());
      for (const wake of this.#waiting.get(duty) ?? []) wake();
    }
  }

  /** Takes a duty from the process, as when its lease has ended. */
  lose(duty: Duty): void {
    const held = this.#held.get(duty);
    this.#held.delete(duty);
    held?.abort();
  }

  /** Returns how many loops wait for a duty. */
  waiting(duty: Duty): number {
    return this.#waiting.get(duty)?.size ?? 0;
  }

  #given(duty: Duty, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(duty) ?? new Set();
    this.#waiting.set(duty, waiting);
    return new Promise((resolve) => {
      const wake = () => {
        waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
