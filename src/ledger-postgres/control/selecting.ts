import type { ActionFilter, SelectedState } from '../../ledger/contract/ledger-queries.ts';
import { selectedBy } from '../../ledger/rules/control/selecting.ts';
import { FROM_NEWEST } from '../../ledger/rules/queries/keyset-page.ts';
import type { Transaction } from '../database/transaction.ts';
import { deliveryNumbers } from '../queries/delivery-list.ts';

/** Maximum numbers of deliveries and of ids in one part. */
const PART = 500;
const IDS_PART = 50;

/** A position among the selected deliveries: when the last one was owed, and its number; or the number of ids before it. */
export interface Position {
  readonly at: number;
  readonly no: number;
}

/** A part of the deliveries that a filter selects. */
interface SelectedPart {
  readonly numbers: readonly number[];
  /** The ids of this part that select no delivery. */
  readonly unmatched: readonly string[];
  /** The position after this part; undefined at the end. */
  readonly next: Position | undefined;
}

/** Returns the next part of the deliveries that an action in these states may change. Only reads. */
export async function selectPart(
  tx: Transaction,
  filter: ActionFilter,
  states: readonly SelectedState[],
  after: Position | undefined,
): Promise<SelectedPart> {
  const selected = selectedBy(filter, states);
  if (selected.kind === 'filter') {
    const rows = await deliveryNumbers(tx, selected.filter, after ?? FROM_NEWEST, PART);
    const next = rows.length < PART ? undefined : rows.at(-1);
    return { numbers: rows.map(({ no }) => no), unmatched: [], next };
  }
  const from = after?.no ?? 0;
  const ids = selected.ids.slice(from, from + IDS_PART);
  const [numbers, unmatched] = [new Set<number>(), [] as string[]];
  for (const one of ids) {
    const rows = one.filter ? await deliveryNumbers(tx, one.filter, FROM_NEWEST, PART) : [];
    for (const { no } of rows) numbers.add(no);
    if (rows.length === 0) unmatched.push(one.id);
  }
  return {
    numbers: [...numbers],
    unmatched,
    next: ids.length < IDS_PART ? undefined : { at: 0, no: from + IDS_PART },
  };
}
