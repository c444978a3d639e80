import type { Delivery } from '../../leads/delivery.ts';
import type { DestinationRecord, Outcome } from '../../leads/outcome.ts';
import type { SinkUnavailable } from '../sink-unavailable.ts';
import { keyText } from './lead-key.ts';

/** A lead in a batch, which may contain several deliveries of it. */
export interface BatchLead {
  /** The key of the lead: `main:4711`. */
  readonly key: string;
  /** The deliveries of the lead, oldest first. */
  readonly deliveries: readonly Delivery[];
  readonly newest: Delivery;
  /**
   * Whether to create the record if the CRM does not have it. False if the batch only updates the lead: a missing record was then deleted in
   * the CRM.
   */
  readonly mayCreate: boolean;
}

/** Returns the leads of a batch, each once. */
export function leadsOf(deliveries: readonly Delivery[]): readonly BatchLead[] {
  return [...Map.groupBy(deliveries, keyText)].map(([key, ofLead]) => ({
    key,
    deliveries: ofLead,
    newest: ofLead.at(-1) as Delivery,
    mayCreate: ofLead.some(({ event, replay }) => event === 'created' || replay),
  }));
}

/** Returns one outcome per delivery, in order. A lead without an outcome was not tried. */
export function outcomesInOrder(
  deliveries: readonly Delivery[],
  leads: readonly { readonly deliveries: readonly Delivery[]; readonly outcome: Outcome | undefined }[],
): readonly Outcome[] {
  const outcomes = new Map(
    leads.flatMap(({ deliveries: own, outcome }) => own.map((delivery) => [delivery, outcome] as const)),
  );
  return deliveries.map((delivery) => outcomes.get(delivery) ?? { kind: 'untried' });
}

/** Sets the outcome of every lead that has none to that of a failure. @throws the failure if no lead has an outcome */
export function settleRest(
  leads: readonly { outcome: Outcome | undefined }[],
  failure: SinkUnavailable,
): void {
  if (leads.every(({ outcome }) => outcome === undefined)) throw failure;
  for (const lead of leads) lead.outcome ??= failure.toOutcome();
}

/** Returns the outcome of a lead that the CRM has, with remarks such as which values were not written. */
export function deliveredAs(ref: DestinationRecord | undefined, remarks: readonly string[]): Outcome {
  const remark = [...new Set(remarks)].join(' ');
  return { kind: 'delivered', ref, ...(remark === '' ? {} : { remark }) };
}
