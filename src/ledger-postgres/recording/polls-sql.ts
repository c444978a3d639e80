import { statement } from '../database/statement.ts';

const SOURCE = statement<{
  mark: string | null;
  complete_at: number | null;
  first_listed_at: number | null;
  listed: number;
  current: number;
  origin: string | null;
  leads: number;
}>(
  'source',
  'SELECT mark, complete_at, first_listed_at, listed, current, origin, leads FROM _sources WHERE source = $1',
);

const LOCK_SOURCE = statement('lock-source', 'SELECT 1 FROM _sources WHERE source = $1 FOR UPDATE');

const SET_ORIGIN = statement(
  'set-origin',
  `UPDATE _sources SET origin = $2, mark = CASE WHEN $3 THEN NULL ELSE mark END, complete_at = CASE WHEN $3 THEN NULL ELSE complete_at END,
   complete_poll = CASE WHEN $3 THEN NULL ELSE complete_poll END, first_listed_at = CASE WHEN $3 THEN NULL ELSE first_listed_at END
   WHERE source = $1`,
);

const ADD_SOURCE = statement(
  'add-source',
  'INSERT INTO _sources (source) VALUES ($1) ON CONFLICT DO NOTHING',
);

const LAST_POLL = statement<{ poll_id: number; token: string; parts: number; status: string }>(
  'last-poll-of-source',
  'SELECT poll_id, token, parts, status FROM _polls WHERE source = $1 ORDER BY poll_id DESC LIMIT 1',
);

const FAIL_UNFINISHED = statement(
  'fail-unfinished',
  `UPDATE _polls SET status = 'failed', finished_at = $2, error = 'leadsync stopped before this poll finished'
   WHERE source = $1 AND status = 'running'`,
);

/** The number and the token of a new poll. */
export interface AddedPoll {
  readonly poll_id: number;
  readonly token: string;
}

const ADD_POLL = statement<AddedPoll>(
  'add-poll',
  `INSERT INTO _polls (source, started_at, status, token) VALUES ($1, $2, 'running', gen_random_uuid()::text) RETURNING poll_id, token`,
);
// A sequence that was set back issues its numbers again. Other processes may take numbers from it at the same time, so it is not set, but used up.
const PASS_NUMBERS = statement(
  'pass-poll-numbers',
  `SELECT max(nextval(pg_get_serial_sequence('_polls', 'poll_id'))) FROM generate_series(1, $1::bigint)`,
);
const RENUMBER = statement<{ poll_id: number }>(
  'renumber-poll',
  'UPDATE _polls SET poll_id = DEFAULT WHERE poll_id = $1 RETURNING poll_id',
);

const CLOSE_POLL = statement(
  'close-poll',
  `UPDATE _polls SET finished_at = $2, status = $3, leads_listed = $4, leads_new = $5, leads_changed = $6, leads_rejected = $7, bytes = $8,
   http_status = $9, error = $10 WHERE poll_id = $1`,
);

const LISTED_AFTER = statement<{ id: string; first_no: number }>(
  'listed-after',
  `SELECT id::text AS id, first_no FROM _leads l WHERE source = $1 AND l.id > $2 AND last_listed_at IS NULL ORDER BY l.id LIMIT 1000`,
);

const UNLIST = statement(
  'unlist',
  'UPDATE _leads SET last_listed_at = $3 WHERE source = $1 AND id = ANY ($2::bigint[])',
);

const LESS_CURRENT = statement(
  'less-current',
  'UPDATE _sources SET current = current - $2, mark = NULL WHERE source = $1',
);

/** A rejected content of a lead, and whether a listing contains the lead as valid. */
export interface ValidAgain {
  readonly rejected_id: number;
  readonly lead_id: string;
  readonly valid: boolean;
}

/** Finds rejected contents, after a lead and a row, whose leads the listing of a poll contains as valid. */
const VALID_AGAIN = statement<ValidAgain>(
  'valid-again',
  `SELECT r.rejected_id, r.lead_id::text AS lead_id, r.last_poll_id < $2 AND EXISTS
     (SELECT 1 FROM _leads l WHERE l.source = r.source AND l.id = r.lead_id AND l.last_listed_at IS NULL) AS valid
   FROM _rejected_leads r WHERE r.source = $1 AND r.resolved_at IS NULL AND r.lead_id >= $3::bigint AND (r.lead_id, r.rejected_id) > ($3::bigint, $4)
   ORDER BY r.lead_id, r.rejected_id LIMIT $5`,
);

const COMPLETE = statement(
  'complete',
  `UPDATE _sources SET mark = $2, complete_at = $3, complete_poll = $4, listed = $5, rejected = $6,
   first_listed_at = coalesce(first_listed_at, $3) WHERE source = $1`,
);

const STILL_COMPLETE = statement(
  'still-complete',
  `UPDATE _sources SET complete_at = $2, first_listed_at = coalesce(first_listed_at, $2), mark = coalesce($3, mark) WHERE source = $1`,
);

const RECORD_SIZE = statement(
  'record-size',
  `INSERT INTO _listing_sizes AS s (source, day, most) VALUES ($1, $2, $3)
   ON CONFLICT (source, day) DO UPDATE SET most = greatest(s.most, excluded.most)`,
);
const DELETE_SIZES = statement('delete-sizes', 'DELETE FROM _listing_sizes WHERE source = $1 AND day < $2');

/** The statements of polls. */
export const pollsSql = {
  SOURCE,
  LOCK_SOURCE,
  SET_ORIGIN,
  ADD_SOURCE,
  LAST_POLL,
  FAIL_UNFINISHED,
  ADD_POLL,
  PASS_NUMBERS,
  RENUMBER,
  CLOSE_POLL,
  LISTED_AFTER,
  UNLIST,
  LESS_CURRENT,
  VALID_AGAIN,
  COMPLETE,
  STILL_COMPLETE,
  RECORD_SIZE,
  DELETE_SIZES,
};
