/** Number of failures for a lead alone after which it can be known to be at fault: as many as hold a sink that takes nothing else. */
const MANY = 5;
/** Maximum leads that are remembered. */
const MAX_LEADS = 1_000;

/**
 * Remembers the leads for which a program failed alone, over attempts. One attempt cannot show whether such a lead or the program is at fault
 * if no other lead is there to compare: on a sink with few leads that is the usual case.
 */
export class LoneFailures {
  readonly #leads = new Map<string, { failures: number; tookOther: boolean }>();

  /** Notes that the program took leads. */
  noteTaken(ids: readonly string[]): void {
    for (const id of ids) this.#leads.delete(id);
    for (const lead of this.#leads.values()) lead.tookOther ||= lead.failures >= MANY;
  }

  /** Notes a failure. Returns whether the program had failed for this lead alone time and again, and then taken another one. */
  isAtFault(id: string): boolean {
    const { failures, tookOther } = this.#leads.get(id) ?? { failures: 0, tookOther: false };
    this.#leads.delete(id);
    if (tookOther) return true;
    this.#leads.set(id, { failures: failures + 1, tookOther });
    for (const oldest of this.#leads.keys()) if (this.#leads.size > MAX_LEADS) this.#leads.delete(oldest);
    return false;
  }
}
