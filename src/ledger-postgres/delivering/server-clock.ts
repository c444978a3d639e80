import { CLOCK_STEP_MS } from '../../ledger/rules/batching.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import type { Transaction } from '../database/transaction.ts';
import { isMoving, lockClock, moveAhead, moveBack, moveChunk, readClock } from './clock-setting.ts';

/**
 * How far the server's clock was ahead of the monotonic clock of this process when it last looked, in ms. It is known only between two bounds,
 * because the server read its clock at some time between the request and the answer.
 */
interface Seen {
  readonly least: number;
  readonly most: number;
  /** By how much the ledger had followed the server's clock by then, in ms. */
  readonly steppedMs: number;
}

/**
 * Detects when the clock of the server was set, and moves the times in the ledger once, however many processes detect it. A process compares the
 * server's clock only with its own monotonic clock, never with the wall clock of its machine. It reads from the ledger how much of a step other
 * processes have already followed. The notice of the write makes the other processes look for due deliveries. They measure the leases of their
 * attempts with their own monotonic clocks.
 */
export class ServerClock {
  readonly #access: PostgresAccess;
  readonly #clock: Clock;
  #seen: Seen | undefined;

  constructor(access: PostgresAccess, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  /** Runs a transaction as `PostgresAccess.write` does, after the ledger has followed the clock if that was set. */
  async inStep<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (;;) {
      const sentMs = this.#clock.monotonicMs();
      const done = await this.#access.write(async (tx) => {
        const seen = await this.#look(tx, sentMs);
        return seen && { seen, result: await work(tx) };
      });
      if (done) {
        this.#seen = done.seen;
        return done.result;
      }
      await this.follow();
    }
  }

  /** Moves times in the ledger if the clock was set. Returns how many deliveries it moved back; undefined if the clock was not set back. */
  async follow(): Promise<number | undefined> {
    const sentMs = this.#clock.monotonicMs();
    const { seen, moved } = await this.#access.owe((tx) => this.#move(tx, sentMs));
    this.#seen = seen;
    return moved === undefined ? undefined : moved + (await this.#moveChunks());
  }

  /** Completes a move of times that another process began but did not finish, because it was killed. */
  async finish(): Promise<void> {
    if (await this.#access.read(isMoving)) await this.#moveChunks();
  }

  async #moveChunks(): Promise<number> {
    let moved = 0;
    for (;;) {
      const some = await this.#access.owe(moveChunk);
      if (some === undefined) return moved;
      moved += some;
    }
  }

  /** Returns what the process has seen of the clock; undefined if the clock may have been set. */
  async #look(tx: Transaction, sentMs: number): Promise<Seen | undefined> {
    const last = this.#seen;
    if (last) {
      const now = this.#bounds(tx, sentMs);
      return Math.abs(stepBetween(last, now)) < CLOCK_STEP_MS
        ? { ...narrowed(last, now), steppedMs: last.steppedMs }
        : undefined;
    }
    const { clock_at, stepped_ms } = await readClock(tx);
    if (clock_at - tx.now >= CLOCK_STEP_MS) return undefined;
    return { ...this.#bounds(tx, sentMs), steppedMs: stepped_ms };
  }

  async #move(tx: Transaction, sentMs: number): Promise<{ seen: Seen; moved: number | undefined }> {
    const { clock_at, stepped_ms } = await lockClock(tx);
    const now = this.#bounds(tx, sentMs);
    const last = this.#seen;
    // What other processes have followed since this one last looked is part of the step that it sees.
    const stepMs = last ? stepBetween(last, now) - (stepped_ms - last.steppedMs) : 0;
    const seen = (movedMs: number) => ({ ...now, steppedMs: stepped_ms + movedMs });
    const backMs = Math.max(clock_at - tx.now, Math.ceil(-stepMs));
    if (backMs >= CLOCK_STEP_MS) return { moved: await moveBack(tx, backMs), seen: seen(-backMs) };
    // If a time of the step was recorded, that time has passed: it was this machine that was suspended.
    const aheadMs = Math.min(Math.round(stepMs), tx.now - clock_at);
    if (aheadMs < CLOCK_STEP_MS) return { moved: undefined, seen: seen(0) };
    await moveAhead(tx, aheadMs);
    return { moved: undefined, seen: seen(aheadMs) };
  }

  #bounds(tx: Transaction, sentMs: number) {
    return { least: tx.now - this.#clock.monotonicMs(), most: tx.now - sentMs };
  }
}

type Bounds = Pick<Seen, 'least' | 'most'>;

/** Returns by how much the clock was set at least between two looks, in ms; 0 if it may not have been set. */
function stepBetween(before: Bounds, after: Bounds): number {
  return Math.max(0, after.least - before.most) + Math.min(0, after.most - before.least);
}

/** Returns the bounds that hold for both looks; the later ones if there are none, because clocks drift. */
function narrowed(before: Bounds, after: Bounds): Bounds {
  const both = { least: Math.max(before.least, after.least), most: Math.min(before.most, after.most) };
  return both.least <= both.most ? both : after;
}
