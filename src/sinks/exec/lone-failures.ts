/** Number of failures for a lead alone after which the lead may prove to be at fault: the number of failures after which a sink is held. */
const MANY = 5;
/** Maximum number of leads to remember. */
const MAX_LEADS = 1_000;

/**
 * Remembers, across attempts, the leads for which a program failed when they were tried alone. If there is no other lead to compare with, as
 * is usual for a sink with few leads, a single attempt cannot show whether the lead or the program is at fault.
 */
export class LoneFailures {
  readonly #leads = new Map<string, { failures: number; tookOther: boolean }>();

  /** Records that the program took leads. */
  noteTaken(ids: readonly string[]): void {
    for (const id of ids) this.#leads.delete(id);
    for (const lead of this.#leads.values()) lead.tookOther ||= lead.failures >= MANY;
  }

  /** Records a failure. Returns whether the program had already failed `MANY` times for this lead alone, and then taken another one. */
  isAtFault(id: string): boolean {
    const { failures, tookOther } = this.#leads.get(id) ?? { failures: 0, tookOther: false };
    this.#leads.delete(id);
    if (tookOther) return true;
    this.#leads.set(id, { failures: failures + 1, tookOther });
    for (const oldest of this.#leads.keys()) if (this.#leads.size > MAX_LEADS) this.#leads.delete(oldest);
    return false;
  }
}
