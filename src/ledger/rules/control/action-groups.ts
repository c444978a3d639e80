import type { ActionGroup } from '../../contract/ledger-control.ts';

/** Counts deliveries into the group of their sink, source, state and reason. */
export function addToGroups(groups: Map<string, ActionGroup>, one: ActionGroup): void {
  const key = JSON.stringify([one.sink, one.source, one.state, one.reason]);
  const before = groups.get(key)?.deliveries ?? 0;
  groups.set(key, { ...one, deliveries: before + one.deliveries });
}
