import type { StoredReplay } from '../../ledger/rules/control/replay-selection.ts';
import { statement } from '../database/statement.ts';
import { HAS_CONTENT, hasReason } from '../schema/delivery-sql.ts';

/** A lead that a replay selects: the version by which it was found, and its current version. */
export interface CurrentLead {
  at: number;
  version_no: number;
  source: string;
  id: string;
}

const LAST_STATUS =
  '(SELECT a.http_status FROM _attempts a WHERE a.delivery_no = d.delivery_no ORDER BY a.attempt_no DESC LIMIT 1)';
const HAS_REASON = hasReason('$7');

/** Whether the delivery `d` meets the conditions of the parameters 6 to 10. */
const MEETS_RESULT = `($6::text[] IS NULL OR d.state = ANY ($6) OR (d.state = 'skipped' AND d.discarded = 1 AND 'discarded' = ANY ($6)))
  AND ($7::text IS NULL OR CASE WHEN $8::int IS NULL THEN ${HAS_REASON}
    ELSE (d.reason IS NOT NULL OR d.state = 'delivered') AND coalesce(${LAST_STATUS} = $8, ${HAS_REASON}) END)
  AND ($9::bigint IS NULL OR (d.state = 'delivered' AND d.settled_at >= $9))
  AND ($10::bigint IS NULL OR (d.state = 'delivered' AND d.settled_at < $10))`;

/**
 * Whether the lead has content, and was first seen or changed in the period. A destination that lost its data from that period lacks both
 * kinds of leads. OFFSET makes PostgreSQL look the lead's deliveries up in place of reading all of the sink. If the fourth parameter is true, one of the lead's deliveries to the sink must also meet the conditions.
 */
const MATCHES = `${HAS_CONTENT} AND ($1::text IS NULL OR v.source = $1)
  AND (v.first_seen_at >= $2::bigint AND v.first_seen_at < $3::bigint OR v.valid_from >= $2 AND v.valid_from < $3)
  AND (NOT $4::boolean OR EXISTS (SELECT 1 FROM _versions w JOIN _deliveries d ON d.version_no = w.version_no
    WHERE w.source = v.source AND w.id = v.id AND d.sink_no = $5::int AND d.event <> 'erased' AND ${MEETS_RESULT} OFFSET 0))`;

const COLUMNS = 'v.version_no AS at, l.version_no, v.source, v.id::text AS id';

// For each lead, the version that was current when the replay was requested, or a newer version that was recorded since.
const BETWEEN = statement<CurrentLead>(
  'replay-between',
  `SELECT ${COLUMNS} FROM _versions v JOIN _leads l ON l.source = v.source AND l.id = v.id
   WHERE v.version_no > $11::bigint AND v.version_no <= $13::bigint AND (l.version_no = v.version_no OR l.version_no > $14::bigint
     AND v.version_no = (SELECT max(o.version_no) FROM _versions o WHERE o.source = v.source AND o.id = v.id AND o.version_no <= $14))
   AND ${MATCHES} ORDER BY v.version_no LIMIT $12`,
);

const LISTED = statement<CurrentLead>(
  'replay-listed',
  `SELECT ${COLUMNS} FROM unnest($13::bigint[]) AS g (version_no) JOIN _versions v ON v.version_no = g.version_no
   JOIN _leads l ON l.source = v.source AND l.id = v.id
   WHERE g.version_no > $11::bigint AND ${MATCHES} ORDER BY v.version_no LIMIT $12`,
);

const NEWEST_VERSION = statement<{ no: number }>(
  'newest-version-for-replay',
  'SELECT coalesce(max(version_no), 0) AS no FROM _versions',
);

const OF_LEAD = statement<{ version_no: number }>(
  'version-of-lead',
  `SELECT l.version_no FROM _sources s JOIN _leads l ON l.source = s.source AND l.id = $1 WHERE s.source = coalesce($2, s.source)`,
);

const OF_DELIVERIES = statement<{ version_no: number }>(
  'versions-of-deliveries',
  `SELECT l.version_no FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _leads l ON l.source = v.source AND l.id = v.id
   WHERE d.delivery_no = ANY ($1::bigint[])`,
);

const ASK = statement<{ replay_no: number }>(
  'ask-replay',
  `INSERT INTO _replays (sink_no, asked_at, touched_at, left_out, source, since, until, chosen, bound)
   VALUES ($1, $2, $2, $3, $4, $5, $6, $7, (SELECT coalesce(max(version_no), 0) FROM _versions)) RETURNING replay_no`,
);

const GET = statement<
  StoredReplay & { sink_no: number; asked_at: number; through: number; bound: number; owed: number }
>(
  'get-replay',
  `SELECT sink_no, asked_at, through, bound, owed, left_out, source, since, until, chosen FROM _replays WHERE replay_no = $1 FOR UPDATE`,
);

const PROGRESS = statement(
  'replay-progress',
  'UPDATE _replays SET through = $2, owed = $3, touched_at = $4 WHERE replay_no = $1',
);

// abs(), because a time in the future also belongs to a killed process: the clock has been set back since its last step.
const ABANDONED = statement<{ replay_no: number }>(
  'abandoned-replays',
  'SELECT replay_no FROM _replays WHERE through < bound AND abs($1::bigint - touched_at) > $2::bigint',
);

/** The statements of replays. */
export const replayingSql = {
  BETWEEN,
  LISTED,
  NEWEST_VERSION,
  OF_LEAD,
  OF_DELIVERIES,
  ASK,
  GET,
  PROGRESS,
  ABANDONED,
};
