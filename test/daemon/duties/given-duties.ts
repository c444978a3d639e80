import type { Duties, Duty } from '../../../src/daemon/duties/duties.ts';
import type { DutyWork } from '../../../src/ledger/contract/machines.ts';

/** Duties that a test gives to a process and takes from it. */
export class GivenDuties implements Duties {
  /** By duty: takes it from the process. */
  readonly #held = new Map<Duty, AbortController>();
  /** By duty: asks the work in progress to return. */
  readonly #retiring = new Map<Duty, AbortController>();
  /** By duty: loops that wait for it. */
  readonly #waiting = new Map<Duty, Set<() => void>>();

  constructor(...duties: readonly Duty[]) {
    this.give(...duties);
  }

  async whileHeld(duty: Duty, work: DutyWork, ending: AbortSignal): Promise<void> {
    for (;;) {
      const lost = await this.#take(duty, ending);
      if (!lost) return;
      const retiring = new AbortController();
      this.#retiring.set(duty, retiring);
      const held = {
        token: `token of ${duty}`,
        isTrusted: () => !lost.aborted,
        preferOthers: () => undefined,
      };
      try {
        await work({ ...held, retiring: retiring.signal }, lost);
      } catch (error) {
        if (!lost.aborted) throw error;
      }
      if (ending.aborted || !(lost.aborted || retiring.signal.aborted)) return;
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

  /** Asks the process to give a duty up at a quiet place, for another one that now takes it. */
  retire(duty: Duty): void {
    this.#held.delete(duty);
    this.#retiring.get(duty)?.abort();
  }

  /** Returns how many loops wait for a duty. */
  waiting(duty: Duty): number {
    return this.#waiting.get(duty)?.size ?? 0;
  }

  async #take(duty: Duty, ending: AbortSignal): Promise<AbortSignal | undefined> {
    for (;;) {
      await Promise.resolve();
      if (ending.aborted) return undefined;
      const held = this.#held.get(duty);
      if (held) return held.signal;
      await this.#given(duty, ending);
    }
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
