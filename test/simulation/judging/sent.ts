import type { Batch, BatchRef, Delivery } from '../../../src/leads/delivery.ts';
import type { Verdict } from '../../../src/leads/judgement.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';

/** What is known from outside about the attempts of one delivery. */
interface Tried {
  /** The leases of unsettled attempts that began, or were claimed to begin. */
  readonly open: Set<number>;
  /** Whether an attempt ended without an answer. */
  isUnsure: boolean;
  isDelivered: boolean;
  isDead: boolean;
}

/**
 * Tracks which content of each lead was sent. A delivery that is known not to have arrived is sent in the lead's newest content. No sink is
 * notified twice, under two ids, that a lead is new, unless the first delivery was given up.
 */
export class Sent {
  readonly #tried = new Map<string, Tried>();
  /** The deliveries that notified a sink of a new lead, by sink and lead. */
  readonly #asNew = new Map<string, Set<string>>();
  /** Leases that were claimed to begin and have not begun, by batch. */
  readonly #claimed = new Map<string, Set<number>>();

  /** The attempt begins with the claim: if the process dies now, its outcome is unknown. */
  claimed({ batch, lease }: BatchRef): void {
    this.#claimed.set(batch, (this.#claimed.get(batch) ?? new Set()).add(lease));
  }

  began(
    { lease }: BatchRef,
    batch: Batch,
    outdated: readonly Delivery[],
    blame: (what: string) => void,
  ): void {
    const earlier = [...(this.#claimed.get(batch.id) ?? [])].filter((one) => one !== lease);
    this.#claimed.delete(batch.id);
    for (const { id } of batch.deliveries) for (const one of earlier) this.#of(id).open.add(one);
    for (const { id, event } of outdated)
      if (event !== 'erased' && !mayHaveArrived(this.#of(id)))
        blame(
          `${id} was sent although a newer content was known, and it is known not to have arrived before`,
        );
    for (const delivery of batch.deliveries) {
      if (delivery.event === 'created' && !delivery.replay) this.#tellsOfNew(batch.sink, delivery, blame);
      this.#of(delivery.id).open.add(lease);
    }
  }

  /** An attempt that sent nothing leaves no doubt; any other one was cut off, so it is unknown what arrived. */
  released({ lease }: BatchRef, { deliveries }: Batch, mayHaveArrived: boolean): void {
    for (const { id } of deliveries) {
      const tried = this.#of(id);
      tried.open.delete(lease);
      tried.isUnsure ||= mayHaveArrived;
    }
  }

  settled(
    { lease }: BatchRef,
    { deliveries }: Batch,
    outcomes: readonly Outcome[],
    verdicts: readonly Verdict[],
  ): void {
    // A batch of which nothing was settled is attempted again as it is: if one delivery may have arrived, all may have.
    const isKept = verdicts.every(({ state }) => state === 'pending');
    for (const [index, { id }] of deliveries.entries()) {
      const tried = this.#of(id);
      tried.open.delete(lease);
      tried.isUnsure ||= isUnanswered(outcomes[index]) || (isKept && outcomes.some(isUnanswered));
      tried.isDelivered ||= verdicts[index]?.state === 'delivered';
      tried.isDead ||= verdicts[index]?.state === 'dead';
    }
  }

  #tellsOfNew(sink: string, { id, source, leadId }: Delivery, blame: (what: string) => void): void {
    const lead = `${sink} ${source} ${leadId}`;
    const names = this.#asNew.get(lead) ?? new Set();
    for (const other of names) {
      const tried = this.#of(other);
      if (other !== id && (tried.isDelivered || (mayHaveArrived(tried) && !tried.isDead)))
        blame(`${sink} is told of a new lead as ${id}, and may have been told of it as ${other}`);
    }
    this.#asNew.set(lead, names.add(id));
  }

  #of(id: string): Tried {
    const known = this.#tried.get(id);
    if (known) return known;
    const tried: Tried = { open: new Set(), isUnsure: false, isDelivered: false, isDead: false };
    this.#tried.set(id, tried);
    return tried;
  }
}

function mayHaveArrived({ open, isUnsure, isDelivered }: Tried): boolean {
  return open.size > 0 || isUnsure || isDelivered;
}

function isUnanswered(outcome: Outcome | undefined): boolean {
  return outcome?.kind === 'unavailable' && outcome.httpStatus === undefined && !outcome.unsent;
}
