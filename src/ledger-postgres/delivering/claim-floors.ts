import type { Clock } from '../../platform/time/clock.ts';
import type { DueRow } from './claiming-sql.ts';

/** How long claims go on from a floor before one looks from the start again, in ms. */
const FROM_FLOOR_MS = 1_000;

/** A place in the index of due deliveries: a due time, in ms since 1970, and the number of a delivery. */
export type Place = readonly [dueAt: number, deliveryNo: number];

/** The place before all due deliveries. */
export const START: Place = [0, 0];

/** The place from which the next claim of a sink with a backlog reads. */
export interface Floor {
  readonly place: Place;
  /** When a claim last looked from the start, by the monotonic clock. */
  readonly startedMs: number;
}

/**
 * For each sink with a backlog, the place in the index of due deliveries before which earlier claims have taken everything. The index keeps the
 * entries of taken deliveries until vacuum removes them, which a long transaction of another program may prevent, and a claim that began at the start
 * would read all of them.
 *
 * A delivery before the floor that became visible late, because another claim had locked it or its transaction committed late, is claimed up to a
 * second later. This affects only sinks with a backlog.
 */
export class ClaimFloors {
  readonly #clock: Clock;
  readonly #floors = new Map<string, Floor>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the floor of a sink, from which the next claim looks for due deliveries; undefined if it looks from the start. */
  of(sink: string): Floor | undefined {
    const floor = this.#floors.get(sink);
    return floor && this.#clock.monotonicMs() - floor.startedMs < FROM_FLOOR_MS ? floor : undefined;
  }

  /** Returns the floor of a sink with a backlog, raised to the last of the `found` deliveries before which all were taken. */
  raised(floor: Floor | undefined, found: readonly DueRow[], taken: ReadonlySet<number>): Floor | undefined {
    const left = found.findIndex((row) => !taken.has(row.delivery_no));
    const last = found.at(left === -1 ? -1 : left - 1);
    if (!last || left === 0) return floor;
    const startedMs = floor?.startedMs ?? this.#clock.monotonicMs();
    return { place: [last.next_attempt_at, last.delivery_no], startedMs };
  }

  /** Keeps the floor that a claim has left. Must be called only once the claim is committed: a claim that failed has taken nothing. */
  keep(sink: string, floor: Floor | undefined): void {
    if (floor) this.#floors.set(sink, floor);
    else this.#floors.delete(sink);
  }
}
