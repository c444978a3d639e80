import type { ResultFilter } from '../../contract/ledger-queries.ts';

/** The conditions of a `ResultFilter`, as they are stored and passed to statements. Null means that the filter has no such condition. */
export interface ResultParameters {
  /** States as a JSON array. */
  readonly states: string | null;
  /** A part of a reason, in lower case. */
  readonly reason: string | null;
  readonly httpStatus: number | null;
  /** In ms since 1970. */
  readonly deliveredSince: number | null;
  readonly deliveredUntil: number | null;
}

/** Converts the conditions to parameters. */
export function resultParameters(filter: ResultFilter): ResultParameters {
  const { states, reason, deliveredSince, deliveredUntil } = filter;
  return {
    states: states === undefined ? null : JSON.stringify(states),
    reason: reason?.toLowerCase() ?? null,
    httpStatus: reason !== undefined && /^[1-5]\d\d$/.test(reason) ? Number(reason) : null,
    deliveredSince: deliveredSince?.getTime() ?? null,
    deliveredUntil: deliveredUntil?.getTime() ?? null,
  };
}

/** Whether the filter has a condition apart from the state. */
export function hasResultCondition({ reason, deliveredSince, deliveredUntil }: ResultFilter): boolean {
  return reason !== undefined || deliveredSince !== undefined || deliveredUntil !== undefined;
}
