/** Number of arrivals of each lead, by its id. */
export type Tally = Map<number, number>;

/** Counts one arrival. */
export function count(tally: Tally, id: number): void {
  tally.set(id, (tally.get(id) ?? 0) + 1);
}
