import { CLOCK_STEP_MS } from '../../ledger/rules/delivering/batching.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Asked } from '../database/flight.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import type { Transaction } from '../database/transaction.ts';
import {
  askClock,
  isMoving,
  type LedgerClock,
  lockClock,
  moveAhead,
  moveBack,
  moveChunk,
} from './clock-setting.ts';

/**
 * How far the server's clock was ahead of the monotonic clock of this process when it last looked, in ms. It is known only between two bounds,
 * because the server read its clock at some time between the request and the answer.
 */
interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** What a process saw of the server's clock when it last looked. */
interface Seen extends Bounds {
  /** What the clock showed, in ms since 1970. */
  readonly serverMs: number;
  /** By how much the ledger had followed steps back and steps ahead by then, in ms. */
  readonly followed: Pick<LedgerClock, 'set_back_ms' | 'set_ahead_ms'>;
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
  async inStep<T>(work: (tx: Transaction) => Promise<T>, first: readonly Asked<unknown>[] = []): Promise<T> {
    for (;;) {
      const sentMs = this.#clock.monotonicMs();
      const clock = askClock();
      const lookFirst = async (tx: Transaction) => {
        const seen = this.#look(sentMs, (await tx.answer(clock))[0] as LedgerClock);
        return seen && { seen, result: await work(tx) };
      };
      const done = await this.#access.write(lookFirst, [clock, ...first]);
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
    const { seen, moved } = await this.#access.move((tx) => this.#move(tx, sentMs));
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
  #look(sentMs: number, clock: LedgerClock): Seen | undefined {
    const now = this.#see(sentMs, clock);
    const last = this.#seen;
    if (!last) return clock.clock_at - now.serverMs >= CLOCK_STEP_MS ? undefined : now;
    return Math.abs(stepBetween(last, now)) < CLOCK_STEP_MS ? { ...now, ...narrowed(last, now) } : undefined;
  }

  async #move(tx: Transaction, sentMs: number): Promise<{ seen: Seen; moved: number | undefined }> {
    const clock = await lockClock(tx);
    const now = this.#see(sentMs, clock);
    const step = this.#seen ? stepOf(this.#seen, now, clock) : NO_STEP;
    const backMs = Math.max(clock.clock_at - tx.now, step.backMs);
    if (backMs >= CLOCK_STEP_MS)
      return { moved: await moveBack(tx, backMs), seen: following(now, backMs, 0) };
    if (step.aheadMs < CLOCK_STEP_MS) return { moved: undefined, seen: now };
    await moveAhead(tx, step.aheadMs);
    return { moved: undefined, seen: following(now, 0, step.aheadMs) };
  }

  /** Takes the time that was read with what was followed, not that of the transaction: other processes may have followed a step in between. */
  #see(sentMs: number, { read_at, ...followed }: LedgerClock): Seen {
    const monotonicMs = this.#clock.monotonicMs();
    return { least: read_at - monotonicMs, most: read_at - sentMs, serverMs: read_at, followed };
  }
}

/** A step of the clock that the ledger has not followed yet, in ms. */
interface Step {
  readonly backMs: number;
  readonly aheadMs: number;
}

const NO_STEP: Step = { backMs: 0, aheadMs: 0 };

/**
 * Returns the step between two looks. A process cannot tell a clock that was set ahead from a machine that was suspended, whose monotonic clock
 * stands still, nor a clock that was set back from a server that was suspended. So the clock was set back only if it showed an earlier time than
 * at the last look, and set ahead only if nothing was recorded at a time of the step, because it never showed such a time. What other processes
 * followed between the two looks is part of the step that this process sees.
 */
function stepOf(last: Seen, now: Seen, { clock_at, set_back_ms, set_ahead_ms }: LedgerClock): Step {
  const stepMs = stepBetween(last, now);
  const backMs = Math.ceil(-stepMs) - (set_back_ms - last.followed.set_back_ms);
  const aheadMs = Math.round(stepMs) - (set_ahead_ms - last.followed.set_ahead_ms);
  const atMostWithoutStep = last.most + now.serverMs - now.least;
  return {
    backMs: now.serverMs < last.serverMs ? Math.max(0, backMs) : 0,
    aheadMs: clock_at <= atMostWithoutStep ? Math.max(0, aheadMs) : 0,
  };
}

/** Returns what was seen, once the ledger has followed a step of so many ms. */
function following(seen: Seen, backMs: number, aheadMs: number): Seen {
  const { set_back_ms, set_ahead_ms } = seen.followed;
  return {
    ...seen,
    followed: { set_back_ms: set_back_ms + backMs, set_ahead_ms: set_ahead_ms + aheadMs },
  };
}

/** Returns by how much the clock was set at least between two looks, in ms; 0 if it may not have been set. */
function stepBetween(before: Bounds, after: Bounds): number {
  return Math.max(0, after.least - before.most) + Math.min(0, after.most - before.least);
}

/** Returns the bounds that hold for both looks; the later ones if there are none, because clocks drift. */
function narrowed(before: Bounds, after: Bounds): Bounds {
  const both = { least: Math.max(before.least, after.least), most: Math.min(before.most, after.most) };
  return both.least <= both.most ? both : after;
}
