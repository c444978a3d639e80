import type { ResultFilter } from '../../contract/ledger-queries.ts';

/** The conditions of a `ResultFilter`, as they are stored and passed to statements. Null means that the filter has no such condition. */
export interface ResultParameters {
  /** States as a JSON array. */
  readonly states: string | null;
  /** A part of a reason, folded as `foldCase` does. */
  readonly reason: string | null;
  readonly httpStatus: number | null;
  /** In ms since 1970. */
  readonly deliveredSince: number | null;
  readonly deliveredUntil: number | null;
}

/** Returns a text with the letters A to Z in lower case. SQLite's `lower` changes no other letters, and PostgreSQL's changes no other ones with the collation "C". */
function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Converts the conditions to parameters. */
export function resultParameters(filter: ResultFilter): ResultParameters {
  const { states, reason, deliveredSince, deliveredUntil } = filter;
  return {
    states: states === undefined ? null : JSON.stringify(states),
    reason: reason === undefined ? null : foldCase(reason),
    httpStatus: reason !== undefined && /^[1-5]\d\d$/.test(reason) ? Number(reason) : null,
    deliveredSince: deliveredSince?.getTime() ?? null,
    deliveredUntil: deliveredUntil?.getTime() ?? null,
  };
}

/** Whether the filter has a condition apart from the state. */
export function hasResultCondition({ reason, deliveredSince, deliveredUntil }: ResultFilter): boolean {
  return reason !== undefined || deliveredSince !== undefined || deliveredUntil !== undefined;
}
