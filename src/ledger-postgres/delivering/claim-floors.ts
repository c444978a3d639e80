import type { Clock } from '../../platform/time/clock.ts';
import type { DueRow } from './claiming-sql.ts';

/** How long claims go on from a floor before one looks from the start again, in ms. */
const FROM_FLOOR_MS = 1_000;

/** A place in the index of due deliveries: a due time, in ms since 1970, and the number of a delivery. */
export type Place = readonly [dueAt: number, deliveryNo: number];

/** The place before all due deliveries. */
export const START: Place = [0, 0];

interface Floor {
  readonly place: Place;
  /** When a claim last looked from the start, by the monotonic clock. */
  readonly startedMs: number;
}

/**
 * How far the claims of a backlog have taken what is due, by sink. The index still contains the deliveries that were taken, until vacuum removes
 * them, which a long transaction of another program may prevent. A claim that began at the start would walk over all of them.
 *
 * What is due before a floor, because another claim had locked it, a transaction committed late or the claim failed after all, is claimed a second
 * late, and only at a sink with a backlog.
 */
export class ClaimFloors {
  readonly #clock: Clock;
  readonly #floors = new Map<number, Floor>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the place after which the next claim of a sink looks for due deliveries. */
  of(sinkNo: number): Place {
    const floor = this.#floors.get(sinkNo);
    if (floor && this.#clock.monotonicMs() - floor.startedMs < FROM_FLOOR_MS) return floor.place;
    this.#floors.delete(sinkNo);
    return START;
  }

  /** Raises the floor of a sink with a backlog to the last of the `found` deliveries before which all were taken. */
  raise(sinkNo: number, found: readonly DueRow[], taken: ReadonlySet<number>): void {
    const left = found.findIndex((row) => !taken.has(row.delivery_no));
    const last = found.at(left === -1 ? -1 : left - 1);
    if (!last || left === 0) return;
    const startedMs = this.#floors.get(sinkNo)?.startedMs ?? this.#clock.monotonicMs();
    this.#floors.set(sinkNo, { place: [last.next_attempt_at, last.delivery_no], startedMs });
  }

  /** Removes the floor of a sink, so that the next claim looks from the start. */
  remove(sinkNo: number): void {
    this.#floors.delete(sinkNo);
  }
}
