const LAST_STATUS =
  '(SELECT a.http_status FROM _attempts a WHERE a.delivery_no = d.delivery_no ORDER BY a.attempt_no DESC LIMIT 1)';
const HAS_REASON = "instr(lower(coalesce(d.reason, '')), :reason) > 0";

/** Whether the delivery `d` meets the conditions. */
export const MEETS_RESULT = `(:states IS NULL OR d.state IN (SELECT value FROM json_each(:states))
    OR (d.state = 'skipped' AND d.discarded = 1 AND 'discarded' IN (SELECT value FROM json_each(:states))))
  AND (:reason IS NULL OR iif(:httpStatus IS NULL, ${HAS_REASON}, (d.reason IS NOT NULL OR d.state = 'delivered') AND coalesce(${LAST_STATUS} = :httpStatus, ${HAS_REASON})))
  AND (:deliveredSince IS NULL OR (d.state = 'delivered' AND d.settled_at >= :deliveredSince))
  AND (:deliveredUntil IS NULL OR (d.state = 'delivered' AND d.settled_at < :deliveredUntil))`;
