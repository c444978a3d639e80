import type { DeliveryState } from '../../leads/delivery.ts';
import type { ErasureRow, FormerRow } from '../../ledger/rules/privacy/erasure-progress.ts';
import { statement } from '../database/statement.ts';
import { claimingSql } from '../delivering/claiming-sql.ts';

/** Whether the delivery `d` was attempted, or may have been attempted because it is in a batch. */
const MAY_HAVE_ARRIVED = '(d.first_attempt_at IS NOT NULL OR d.batch_no IS NOT NULL)';

/** The deliveries of the lead of the first two parameters, except those of the event `erased`. */
const OF_LEAD = `(SELECT d.delivery_no FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no
  WHERE v.source = $1::text AND v.id = $2::bigint AND d.event <> 'erased')`;

const NO_CONTENT = `'{"id":' || $2::bigint || '}'`;

const NOTE = statement(
  'note-erasure',
  `INSERT INTO _erased (source, id, erased_at) VALUES ($1, $2, $3) ON CONFLICT (source, id) DO UPDATE SET finished_at = NULL, erased_no = DEFAULT`,
);

const MARK = statement(
  'mark-erased',
  `UPDATE _leads l SET erased_no = e.erased_no FROM _erased e WHERE l.source = $1 AND l.id = $2 AND e.source = l.source AND e.id = l.id`,
);

const IS_UNKNOWN = 'NOT EXISTS (SELECT 1 FROM _leads l WHERE l.source = $1::text AND l.id = $2::bigint)';

const ADD_VERSION = statement<{ version_no: number }>(
  'add-rejected-version',
  `INSERT INTO _versions (version_no, source, id, version, poll_id, valid_from, first_seen_at, hash, raw)
   SELECT nextval('_version_no'), r.source, r.lead_id, 1, r.poll_id, $3::bigint, $3, r.hash, ${NO_CONTENT}
   FROM (SELECT * FROM _rejected_leads WHERE source = $1 AND lead_id = $2 ORDER BY rejected_id LIMIT 1) r WHERE ${IS_UNKNOWN} RETURNING version_no`,
);

const ADD_UNLISTED = statement<{ version_no: number }>(
  'add-unlisted-version',
  `INSERT INTO _versions (version_no, source, id, version, poll_id, valid_from, first_seen_at, hash, raw)
   SELECT nextval('_version_no'), $1, $2::bigint, 1, 0, $3::bigint, $3, '', ${NO_CONTENT} WHERE ${IS_UNKNOWN} RETURNING version_no`,
);

// Added as not listed, so that the counts of polls stay correct: a poll counts the lead when a listing contains it as valid.
const ADD_LEAD = statement(
  'add-erased-lead',
  `INSERT INTO _leads (source, id, version_no, first_no, version, hash, last_listed_at)
   SELECT source, id, version_no, version_no, version, hash, $1 FROM _versions WHERE version_no = $2`,
);

const COUNT_LEAD = statement('count-erased-lead', 'UPDATE _sources SET leads = leads + 1 WHERE source = $1');

const UNSETTLED = statement<{ delivery_no: number }>(
  'unsettled-of-lead',
  `SELECT d.delivery_no FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no
   WHERE v.source = $1 AND v.id = $2 AND d.state IN ('pending', 'dead')`,
);

const DROP_KEY = statement('drop-client-key', 'DELETE FROM _client_keys WHERE source = $1 AND id = $2');

const CLEAR_VERSIONS = statement(
  'clear-versions',
  `UPDATE _versions SET raw = ${NO_CONTENT}, service_slug = NULL, created_at = NULL, readable = NULL, safe_raw = NULL
   WHERE source = $1::text AND id = $2::bigint AND raw <> ${NO_CONTENT}`,
);

const CLEAR_REJECTED_OF = statement(
  'clear-rejected-of-lead',
  "UPDATE _rejected_leads SET raw = '' WHERE source = $1 AND lead_id = $2 AND raw <> ''",
);

const CLEAR_REJECTED = statement(
  'clear-rejected',
  `UPDATE _rejected_leads r SET raw = '' FROM unnest($1::text[], $2::text[]) AS g (source, hash)
   WHERE r.source = g.source AND r.hash = g.hash AND r.raw <> ''`,
);

const CLEAR_ATTEMPTS = statement(
  'clear-attempts',
  `UPDATE _attempts SET answer = NULL, error = NULL WHERE delivery_no IN ${OF_LEAD} AND (answer IS NOT NULL OR error IS NOT NULL)`,
);

// A destination's answer to a whole batch is stored with the attempt of each lead in the batch.
const CLEAR_BATCH_MATES = statement(
  'clear-batch-mates',
  `UPDATE _attempts SET answer = NULL WHERE answer IS NOT NULL
   AND batch_no IN (SELECT a.batch_no FROM _attempts a WHERE a.delivery_no IN ${OF_LEAD})`,
);

const NOTIFY = statement<{ sink_no: number }>(
  'owe-erasure',
  `INSERT INTO _deliveries (version_no, sink_no, event, state, owed_at, next_attempt_at, replay, after_no)
   SELECT l.version_no, d.sink_no, 'erased', 'pending', $3::bigint, $3, $4, max(d.delivery_no)
   FROM _leads l JOIN _versions v ON v.source = l.source AND v.id = l.id JOIN _deliveries d ON d.version_no = v.version_no
   WHERE l.source = $1::text AND l.id = $2::bigint AND ${MAY_HAVE_ARRIVED}
     AND d.sink_no IN (SELECT sink_no FROM _sinks WHERE sink = ANY ($5::text[]))
   GROUP BY l.version_no, d.sink_no ON CONFLICT DO NOTHING RETURNING sink_no`,
);

// The note of a discarded delivery may name the person. The delivery no longer counts as discarded. CASE hides the state from the planner, which
// would read the index of all skipped deliveries.
const CLEAR_NOTES = statement(
  'clear-notes',
  `UPDATE _deliveries SET reason = $3, settled_at = $4, discarded = 2 WHERE delivery_no IN ${OF_LEAD}
   AND CASE WHEN state = 'skipped' THEN discarded = 1 ELSE false END`,
);

const OWED = statement<{
  delivery_no: number;
  sink_no: number;
  state: DeliveryState;
  batch_no: number | null;
  holder: string | null;
  leased_until: number | null;
}>(
  'owed-of-lead',
  `SELECT d.delivery_no, d.sink_no, d.state, d.batch_no, b.holder, b.leased_until FROM _deliveries d LEFT JOIN _batches b ON b.batch_no = d.batch_no
   WHERE d.delivery_no IN ${OF_LEAD} AND d.state IN ('pending', 'dead')`,
);

const FENCE = statement<{ batch_no: number }>(
  'fence-batches',
  `UPDATE _batches SET lease = 0, holder = NULL, leased_until = $2 WHERE batch_no = ANY ($1::bigint[]) AND holder IS NOT NULL RETURNING batch_no`,
);

const PROGRESS = statement<ErasureRow>(
  'erasure-progress',
  `SELECT s.sink, max(CASE WHEN d.event = 'erased' THEN d.state END) AS told,
     max((d.event <> 'erased' AND d.state = 'delivered')::int) AS got,
     (max(s.health)::json ->> 'pausedSince' IS NOT NULL)::int AS paused
   FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no JOIN _sinks s ON s.sink_no = d.sink_no
   WHERE v.source = $1 AND v.id = $2 AND (d.event = 'erased' OR ${MAY_HAVE_ARRIVED}) GROUP BY s.sink_no, s.sink ORDER BY s.sink_no`,
);

// A delivery may be at a former destination if it was first attempted before the sink left that destination, and was not settled before
// the sink began to deliver there.
const FORMER = statement<FormerRow>(
  'former-destinations',
  `SELECT s.sink, f.place, f.until FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no JOIN _sinks s ON s.sink_no = d.sink_no
   CROSS JOIN LATERAL (SELECT value ->> 0 AS place, (value ->> 1)::bigint AS since, (value ->> 2)::bigint AS until, key
     FROM json_array_elements(s.former::json) WITH ORDINALITY AS e (value, key)) f
   WHERE v.source = $1 AND v.id = $2 AND f.place <> s.place AND ${MAY_HAVE_ARRIVED}
     AND coalesce(d.first_attempt_at, d.owed_at) < f.until AND coalesce(d.settled_at, f.until) >= f.since
   GROUP BY s.sink_no, s.sink, f.key, f.place, f.until
   HAVING NOT bool_or(d.event = 'erased' AND d.state = 'delivered' AND d.settled_at < f.until) ORDER BY s.sink_no, f.key`,
);

const UNFINISHED = statement<{ source: string; id: string; erased_at: number }>(
  'unfinished-erasures',
  'SELECT source, id::text AS id, erased_at FROM _erased WHERE finished_at IS NULL ORDER BY erased_no',
);

const ERASED = statement<{ source: string; id: string }>(
  'erased-leads',
  'SELECT source, id::text AS id FROM _erased ORDER BY erased_no',
);

const FINISH = statement(
  'finish-erasing',
  `UPDATE _erased e SET finished_at = $1 FROM unnest($2::text[], $3::bigint[]) AS g (source, id) WHERE e.source = g.source AND e.id = g.id`,
);

/** The statements of erasing. */
export const erasingSql = {
  NOTE,
  MARK,
  ADD_VERSION,
  ADD_UNLISTED,
  ADD_LEAD,
  COUNT_LEAD,
  UNSETTLED,
  DROP_KEY,
  CLEAR_VERSIONS,
  CLEAR_REJECTED_OF,
  CLEAR_REJECTED,
  CLEAR_ATTEMPTS,
  CLEAR_BATCH_MATES,
  NOTIFY,
  CLEAR_NOTES,
  OWED,
  FENCE,
  MARK_MAYBE_ARRIVED: claimingSql.MARK_MAYBE_ARRIVED,
  PROGRESS,
  ERASED,
  FORMER,
  UNFINISHED,
  FINISH,
};
