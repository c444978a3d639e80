import { countOf, printCount } from '../../../platform/text/human-readable.ts';
import type { DeliveryRow } from '../../contract/deliveries.ts';

/** States of the last delivery of a lead to a sink, in the order in which the sentence names them. */
const STATES = ['retried', 'pending', 'dead', 'skipped'] as const;

/**
 * Returns in one sentence which sinks have a lead, by its last delivery to each: `Delivered to 6 of 9 sinks; retried for 2 (crm, drop), dead for
 * 1 (mirror).` Sinks for which the lead was skipped are not among the 9. `deliveries` must be sorted newest first. Returns undefined if there
 * are no deliveries.
 */
export function deliverySummary(deliveries: readonly DeliveryRow[]): string | undefined {
  if (deliveries.length === 0) return undefined;
  const last = new Map(deliveries.toReversed().map((delivery) => [delivery.sink, delivery]));
  const byState = Map.groupBy(last.values(), stateOf);
  const others = STATES.flatMap((state) => {
    const names = byState.get(state)?.map(({ sink }) => sink) ?? [];
    return names.length === 0
      ? []
      : [`${state} for ${printCount(names.length)} (${names.sort().join(', ')})`];
  });
  const all = last.size - (byState.get('skipped')?.length ?? 0);
  const delivered = byState.get('delivered')?.length ?? 0;
  const begin =
    all === 0 ? 'Owed to no sink' : `Delivered to ${printCount(delivered)} of ${countOf(all, 'sink')}`;
  return `${begin}${others.length === 0 ? '' : `; ${others.join(', ')}`}.`;
}

/** Returns the state of a delivery. A pending one is `retried` if its last attempt failed. */
function stateOf({ state, reason }: DeliveryRow): DeliveryRow['state'] | 'retried' {
  return state === 'pending' && reason !== null ? 'retried' : state;
}
