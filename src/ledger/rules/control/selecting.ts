import type {
  ActionFilter,
  DeliveryFilter,
  ResultFilter,
  SelectedState,
} from '../../contract/ledger-queries.ts';

/** The condition of each state on the delivery `d`, in SQL that every engine knows. It is also the condition of the state's index. */
export const STATE_CONDITIONS: Readonly<Record<SelectedState, string>> = {
  pending: "d.state = 'pending'",
  delivered: "d.state = 'delivered'",
  dead: "d.state = 'dead'",
  skipped: "d.state = 'skipped'",
  discarded: "d.discarded > 0 AND d.discarded = 1 AND d.state = 'skipped'",
};
/** Every state. Discarded deliveries are among the skipped ones. */
const STATES: readonly SelectedState[] = ['pending', 'delivered', 'dead', 'skipped'];

/** Returns the states whose lists together contain what a filter selects, each delivery once. */
export function listedStates({ states = STATES, ...filter }: ResultFilter): readonly SelectedState[] {
  if ((filter.deliveredSince ?? filter.deliveredUntil) !== undefined)
    return states.filter((state) => state === 'delivered');
  return states.includes('skipped') ? states.filter((state) => state !== 'discarded') : states;
}

/** An id of an `ActionFilter`, and the filter that finds its deliveries; undefined if nothing can match both the id and the rest of the filter. */
export interface SelectedId {
  readonly id: string;
  readonly filter: DeliveryFilter | undefined;
}

/** What an action selects: the deliveries of one filter, or those of each of some ids. */
export type Selected =
  | { readonly kind: 'filter'; readonly filter: DeliveryFilter }
  | { readonly kind: 'ids'; readonly ids: readonly SelectedId[] };

/** Whether a retry includes discarded deliveries: the filter selects this state, or it names deliveries by their ids and selects no state. */
export function bringsBack({ states, delivery, ids }: ActionFilter): boolean {
  if (states) return states.includes('discarded');
  return delivery !== undefined || (ids !== undefined && ids.deliveries.length > 0);
}

/** Returns the selection of an action on deliveries in these states. A delivery that is named by its id may be in any state. */
export function selectedBy({ ids, ...filter }: ActionFilter, states: readonly SelectedState[]): Selected {
  const named = filter.states ? { ...filter, states } : filter;
  if (ids === undefined)
    return { kind: 'filter', filter: filter.delivery === undefined ? { ...filter, states } : named };
  const all = [
    ...ids.leads.map((lead) => ({ id: String(lead), filter: { ...filter, states, lead } })),
    ...ids.deliveries.map((delivery) => ({ id: delivery, filter: { ...named, delivery } })),
  ];
  return {
    kind: 'ids',
    ids: all.map((one) => ({ id: one.id, filter: meets(one.filter, filter) ? one.filter : undefined })),
  };
}

/** Returns the filter that finds the deliveries of each id. Leaves out ids that the rest of the filter excludes. */
export function idFilters({ ids, ...filter }: ActionFilter): DeliveryFilter[] {
  const named = [
    ...(ids?.leads ?? []).map((lead) => ({ ...filter, lead })),
    ...(ids?.deliveries ?? []).map((delivery) => ({ ...filter, delivery })),
  ];
  return named.filter((one) => meets(one, filter));
}

/** Whether an id is the one that the filter requires, if it requires one. */
function meets(named: DeliveryFilter, { lead, delivery }: DeliveryFilter): boolean {
  return (lead ?? named.lead) === named.lead && (delivery ?? named.delivery) === named.delivery;
}
