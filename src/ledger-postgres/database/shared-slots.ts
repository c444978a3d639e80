import { once } from 'node:events';
import type { Pool } from 'pg';
import { DeadlinePassed, withinDeadline } from '../../platform/time/deadline.ts';

const never = new AbortController().signal;

/** Which connections to one server the pools of this process have, so that a pool can get the one that another does not need. */
export class SharedSlots {
  /** The pools, with the number of their connections that are in use. */
  readonly #used = new Map<Pool, number>();
  /** How many calls are asking for a connection for the first time. One that asks again waits itself for a connection to be returned. */
  #asking = 0;
  readonly #waiting = new Set<() => void>();

  add(pool: Pool): void {
    this.#used.set(pool, 0);
    const count = (change: number) => {
      const used = this.#used.get(pool);
      if (used !== undefined) this.#used.set(pool, used + change);
    };
    pool.on('acquire', () => count(1));
    pool.on('release', () => {
      count(-1);
      this.#wake();
    });
    pool.on('remove', () => this.#wake());
  }

  remove(pool: Pool): void {
    this.#used.delete(pool);
    this.#wake();
  }

  /** Runs the first request of a call for a connection. */
  async asking<T>(request: () => Promise<T>): Promise<T> {
    this.#asking += 1;
    try {
      return await request();
    } catch (error) {
      this.#wake();
      throw error;
    } finally {
      this.#asking -= 1;
    }
  }

  /**
   * Closes a connection that no call uses, or waits until one is returned or closed. Returns whether it is worth asking again: false if this process has
   * no connection that it could return, or after `atMostMs`.
   */
  async freed(atMostMs: number): Promise<boolean> {
    const [most] = [...this.#used.keys()].sort((one, other) => other.idleCount - one.idleCount);
    if (most && most.idleCount > 0) {
      return withinDeadline(Math.max(atMostMs, 0), never, () => closeIdle(most)).then(
        () => true,
        // If another call has taken it meanwhile, asking again shows what is free now. A server that stands still closes nothing.
        (error: unknown) => !(error instanceof DeadlinePassed),
      );
    }
    const used = [...this.#used.values()].some((count) => count > 0);
    return (used || this.#asking > 0) && (await this.#changed(atMostMs));
  }

  /** Returns whether something has changed before `atMostMs` have passed. */
  #changed(atMostMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (hasChanged: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve(hasChanged);
      };
      const wake = () => end(true);
      const timer = setTimeout(() => end(false), Math.max(atMostMs, 0));
      this.#waiting.add(wake);
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}

/** Closes an idle connection of a pool. Resolves once the server has closed it too, and so can grant another one. */
async function closeIdle(pool: Pool): Promise<void> {
  const client = await pool.connect();
  const ended = once(client, 'end');
  client.release(true);
  await ended;
}
