import type { LeadChoice } from '../../contract/ledger-control.ts';
import { type Period, periodOf } from '../queries/period.ts';
import { hasResultCondition, type ResultParameters, resultParameters } from '../queries/result-parameters.ts';

/** What a replay selects, apart from its sink. */
export interface ReplaySelection extends Period {
  readonly source: string | null;
  readonly leftOut: boolean;
  /** Conditions, all of which one of the lead's deliveries to the sink must meet; undefined if there are none. */
  readonly result?: ResultParameters | undefined;
  /** The current versions of the leads with the requested ids; undefined if no ids were given. */
  readonly versions?: readonly number[] | undefined;
}

/** What a replay selects, as it is stored. */
export interface StoredReplay {
  left_out: number;
  source: string | null;
  since: number;
  until: number;
  /** JSON: conditions on the lead's deliveries, or a list of versions; null if there are none. */
  chosen: string | null;
}

/** Returns the selection of a replay. `versions` are those of the leads with the choice's ids. */
export function selectionFor(choice: LeadChoice, versions: readonly number[] | undefined): ReplaySelection {
  const { source, since, until, leftOut = false, states } = choice;
  return {
    ...periodOf({ since, until }),
    source: source ?? null,
    leftOut,
    result: hasResultCondition(choice) || states ? resultParameters(choice) : undefined,
    versions,
  };
}

/** Returns the selection of a stored replay. */
export function selectionOf({ source, since, until, left_out, chosen }: StoredReplay): ReplaySelection {
  const more = chosen === null ? {} : (JSON.parse(chosen) as Pick<ReplaySelection, 'result' | 'versions'>);
  return { source, since, until, leftOut: left_out === 1, ...more };
}
