import type Database from 'better-sqlite3';
import type { ActionFilter, DeliveryFilter, SelectedState } from '../contract/ledger-queries.ts';
import { DeliveryList } from '../queries/delivery-list.ts';
import { selectedBy } from '../rules/control/selecting.ts';
import { type Cursor, FROM_NEWEST, parseCursor } from '../rules/queries/keyset-page.ts';

/** Maximum numbers of deliveries and of ids in one part. An id takes longer to find than the next delivery of a list. */
const PART = 500;
const IDS_PART = 50;

/** A part of the deliveries that a filter selects. */
export interface SelectedPart {
  readonly numbers: readonly number[];
  /** The ids of this part that select no delivery. */
  readonly unmatched: readonly string[];
  /** The position after this part; undefined at the end. */
  readonly next: Cursor | undefined;
}

/** Selects the deliveries that an action may change, in parts. Only reads. */
export class Selecting {
  readonly #deliveries: DeliveryList;

  constructor(db: Database.Database) {
    this.#deliveries = new DeliveryList(db);
  }

  /** Returns the next part of the deliveries to retry. Without `states`, these are dead and pending deliveries, and deliveries named by id. */
  retry(filter: ActionFilter, after: Cursor | undefined): SelectedPart {
    return this.#part(filter, filter.states ?? ['dead', 'pending'], after);
  }

  /** Returns the next part of the dead deliveries that match. */
  dead(filter: ActionFilter, after: Cursor | undefined): SelectedPart {
    return this.#part({ ...filter, states: ['dead'] }, ['dead'], after);
  }

  #part(filter: ActionFilter, states: readonly SelectedState[], after: Cursor | undefined): SelectedPart {
    const selected = selectedBy(filter, states);
    if (selected.kind === 'filter') {
      const { rows, next } = this.#deliveries.numbers(selected.filter, PART, after ?? FROM_NEWEST);
      return { numbers: rows, unmatched: [], next: next === null ? undefined : parseCursor(next) };
    }
    const from = after?.no ?? 0;
    const found = selected.ids
      .slice(from, from + IDS_PART)
      .map((one) => ({ id: one.id, numbers: one.filter ? this.#numbersOf(one.filter) : [] }));
    return {
      numbers: [...new Set(found.flatMap(({ numbers }) => numbers))],
      unmatched: found.filter(({ numbers }) => numbers.length === 0).map(({ id }) => id),
      next: found.length < IDS_PART ? undefined : { at: 0, no: from + IDS_PART },
    };
  }

  #numbersOf(filter: DeliveryFilter): readonly number[] {
    return this.#deliveries.numbers(filter, PART, FROM_NEWEST).rows;
  }
}
