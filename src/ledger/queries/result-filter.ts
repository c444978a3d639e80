import type { ResultFilter } from '../contract/ledger-queries.ts';

/** The parameters of `MEETS_RESULT`. Null means that the filter has no such condition. */
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

const LAST_STATUS =
  '(SELECT a.http_status FROM _attempts a WHERE a.delivery_no = d.delivery_no ORDER BY a.attempt_no DESC LIMIT 1)';
const HAS_REASON = "instr(lower(coalesce(d.reason, '')), :reason) > 0";

/** Whether the delivery `d` meets the conditions. */
export const MEETS_RESULT = `(:states IS NULL OR d.state IN (SELECT value FROM json_each(:states))
    OR (d.state = 'skipped' AND d.discarded = 1 AND 'discarded' IN (SELECT value FROM json_each(:states))))
  AND (:reason IS NULL OR iif(:httpStatus IS NULL, ${HAS_REASON}, (d.reason IS NOT NULL OR d.state = 'delivered') AND coalesce(${LAST_STATUS} = :httpStatus, ${HAS_REASON})))
  AND (:deliveredSince IS NULL OR (d.state = 'delivered' AND d.settled_at >= :deliveredSince))
  AND (:deliveredUntil IS NULL OR (d.state = 'delivered' AND d.settled_at < :deliveredUntil))`;
