import { statement } from '../database/statement.ts';

/** Lets the server end the transaction of a process that stands still, whose locks the next beat of this process would wait for. */
const LIMIT = statement(
  'limit-beat',
  `SELECT set_config('idle_in_transaction_session_timeout', $1, true), set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true)`,
);

const SHOW_LIFE = statement(
  'show-life',
  `INSERT INTO _processes (holder, machine, role, sinks, folders, wants, reluctant, started_at, seen_at, facts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)
   ON CONFLICT (holder) DO UPDATE SET machine = $2, role = $3, sinks = $4, folders = $5, wants = $6, reluctant = $7, seen_at = $8, facts = $9`,
);

/**
 * Renews the leases of the duties that a process holds and wants, and gives up its others. Skips those that are locked: another process is taking
 * them, because their leases have ended.
 */
const KEEP = statement<{ duty: string; token: string; holder: string | null }>(
  'keep-duties',
  `UPDATE _duty_leases SET holder = CASE WHEN duty = ANY ($2::text[]) THEN holder END, renewals = renewals + 1,
     held_until = CASE WHEN duty = ANY ($2::text[]) THEN $4::bigint ELSE $3::bigint END
   WHERE duty = ANY (ARRAY(SELECT d.duty FROM _duty_leases d WHERE d.holder = $1 FOR UPDATE SKIP LOCKED))
   RETURNING duty, token, holder`,
);

const PROCESSES = statement<{
  holder: string;
  machine: string;
  role: string;
  sinks: string;
  folders: string;
  wants: string;
  reluctant: string;
  seen_at: number;
}>('processes', 'SELECT holder, machine, role, sinks, folders, wants, reluctant, seen_at FROM _processes');

const DUTIES = statement<{
  duty: string;
  holder: string | null;
  token: string;
  renewals: number;
  since: number;
  held_until: number;
}>('duties', 'SELECT duty, holder, token, renewals, since, held_until FROM _duty_leases');

/** Takes duties, unless they have changed since they were read, or another process takes or renews them at the same time. */
const TAKE = statement<{ duty: string; token: string }>(
  'take-duties',
  `UPDATE _duty_leases SET holder = $1, token = gen_random_uuid()::text, renewals = 0, since = $2, held_until = $3
   WHERE duty = ANY (ARRAY(SELECT d.duty FROM unnest($4::text[], $5::text[], $6::bigint[]) AS g (duty, token, renewals)
     JOIN _duty_leases d ON d.duty = g.duty AND d.token = g.token AND d.renewals = g.renewals FOR UPDATE OF d SKIP LOCKED))
   RETURNING duty, token`,
);

const ADD_DUTIES = statement(
  'add-duties',
  `INSERT INTO _duty_leases (duty, token, since, held_until) SELECT g.duty, '', $2, $2 FROM unnest($1::text[]) AS g (duty) ORDER BY g.duty
   ON CONFLICT DO NOTHING`,
);

const FORGET_PROCESSES = statement(
  'forget-processes',
  `DELETE FROM _processes WHERE holder = ANY (ARRAY(SELECT p.holder FROM _processes p WHERE p.seen_at < $1 FOR UPDATE SKIP LOCKED))`,
);

/** Removes a process, unless it has been seen since a time. */
const REMOVE = statement(
  'remove-process',
  'DELETE FROM _processes WHERE holder = $1 AND seen_at = coalesce($2::bigint, seen_at)',
);

/** Notes that a process is missing before it is removed, under the same condition, and forgets those that have been missing for long. */
const MISS = statement(
  'miss-process',
  `WITH forgotten AS (DELETE FROM _missing_processes WHERE seen_at < $3::bigint AND holder <> $1)
   INSERT INTO _missing_processes (holder, machine, role, sinks, facts, started_at, seen_at)
   SELECT holder, machine, role, sinks, facts, started_at, seen_at FROM _processes WHERE holder = $1 AND seen_at = coalesce($2::bigint, seen_at)
   ON CONFLICT (holder) DO UPDATE SET seen_at = excluded.seen_at`,
);

/** Forgets that a process was missing, because it stops in order. */
const UNMISS = statement('unmiss-process', 'DELETE FROM _missing_processes WHERE holder = $1');

const IS_KNOWN = statement('is-known', 'SELECT 1 FROM _processes WHERE holder = $1');

/** The statements of processes and duties. */
export const machinesSql = {
  LIMIT,
  SHOW_LIFE,
  KEEP,
  PROCESSES,
  DUTIES,
  TAKE,
  ADD_DUTIES,
  FORGET_PROCESSES,
  REMOVE,
  MISS,
  UNMISS,
  IS_KNOWN,
};
