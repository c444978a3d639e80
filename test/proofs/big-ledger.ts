import Database from 'better-sqlite3';
import { judgeBy } from '../../src/delivery/judge.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';

/** The names of the sinks: of the first everything is delivered but the newest, the second is down, the third was added late. */
export const SINKS = ['crm', 'warehouse', 'drop'] as const;

const HOUR_MS = 3_600_000;
const POLLS = 200_000;
const REJECTED = 10_000;
const SLOT_MS = HOUR_MS / 6;
const SLOTS = 7 * 24 * 6;

/**
 * Makes a ledger as one looks after two years: so many leads over 90 days, a tenth of them in the last day, three deliveries and
 * up to two attempts each. Written by SQL, since its own way would take an hour.
 */
export async function makeBigLedger(file: string, leads: number): Promise<void> {
  const judge = judgeBy(
    () => ({ scheduleMs: [], jitter: 0 }),
    () => 0.5,
  );
  const ledger = openLedger({ file, clock: systemClock, random: Math.random, judge, create: true });
  await ledger.declareSinks(SINKS.map((name) => ({ name, events: ['created'], backfill: true })));
  await ledger.startPoll('main');
  await ledger.close();
  const db = new Database(file);
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -400000');
  try {
    db.transaction(() => fill(db, { leads, now: Date.now() }))();
  } finally {
    db.close();
  }
}

function fill(db: Database.Database, given: { leads: number; now: number }): void {
  const counted = (sql: string) => db.prepare(sql).run(given);
  // Evenly over 89 days, then a tenth of them in the last one.
  const at = `CAST(CASE WHEN n <= :leads * 0.9 THEN :now - ${90 * 24 * HOUR_MS} + n * ${89 * 24 * HOUR_MS} / (:leads * 0.9)
    ELSE :now - ${24 * HOUR_MS} + (n - :leads * 0.9) * ${24 * HOUR_MS} / (:leads * 0.1) END AS INTEGER)`;
  counted(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :leads)
    INSERT INTO _versions (version_no, source, id, version, poll_id, valid_from, first_seen_at, hash, raw, service_slug, created_at)
    SELECT n, 'main', n, 1, 1, ${at}, ${at}, lower(hex(randomblob(16))), '{"id":' || n || ',"service_name":"A service","service_slug":"service-'
      || CAST(sqrt(n % 400) AS INTEGER) || '","created_at":"2026-01-01T00:00:00Z","client_name":"' || hex(randomblob(100)) || '","client_email":"client' || n
      || '@example.com","client_phone_number":"020 7946 ' || n || '","client_address":null,"service_question_answers":[],"all_details_one_liner":""}',
      'service-' || CAST(sqrt(n % 400) AS INTEGER), ${at} - 30000 FROM numbers`);
  counted(
    `INSERT INTO _leads (source, id, version_no, first_no, version, hash) SELECT source, id, version_no, version_no, 1, hash FROM _versions WHERE :leads`,
  );
  counted(`INSERT INTO _deliveries (version_no, sink_no, event, state, reason, attempts, owed_at, first_attempt_at, last_attempt_at, next_attempt_at, settled_at)
    SELECT v.version_no, s.sink_no, 'created', state, iif(state IN ('dead', 'skipped'), 'It says no.', NULL), state IN ('delivered', 'dead'), v.valid_from,
      v.valid_from + 1000, v.valid_from + 1000, iif(state = 'pending', v.valid_from, NULL), iif(state = 'pending', NULL, v.valid_from + 1000 + v.id % 5000)
    FROM (SELECT v.*, s.sink_no, s.sink, CASE WHEN s.sink = 'drop' AND v.version_no < :leads * 0.8 THEN 'skipped'
        WHEN s.sink = 'warehouse' AND v.version_no > :leads * 0.7 THEN 'pending' WHEN v.version_no % 1000 = 0 THEN 'dead' ELSE 'delivered' END AS state
      FROM _versions v CROSS JOIN _sinks s) AS v JOIN _sinks s ON s.sink_no = v.sink_no WHERE :now ORDER BY v.version_no`);
  counted(`INSERT INTO _attempts (delivery_no, batch_no, started_at, duration_ms, outcome, http_status)
    SELECT delivery_no, delivery_no, first_attempt_at, 12, state, 200 FROM _deliveries WHERE state IN ('delivered', 'dead') AND :leads AND :now`);
  // A week of sums for each sink. Each leads to a thousand attempts, among which are those of other sinks.
  counted(`WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${SLOTS}),
    made(attempts) AS (SELECT max(attempt_no) FROM _attempts)
    INSERT INTO _sink_activity (sink_no, from_at, sums) SELECT sink_no, CAST(:now / ${SLOT_MS} AS INTEGER) * ${SLOT_MS} - n * ${SLOT_MS}, json_object(
      'outcomes', json('{"delivered 200":900,"refused 422":12,"unavailable 503":40,"unavailable":3}'), 'reasons', json('{"It says no.":12,"It is down.":43}'),
      'durations', json((SELECT json_group_object(CAST(30 + m.n AS TEXT), m.n) FROM numbers m WHERE m.n < 25)),
      'first', max(1, attempts - n * 1000 - 999), 'last', max(1, attempts - n * 1000))
    FROM numbers CROSS JOIN _sinks CROSS JOIN made WHERE :leads`);
  counted(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${POLLS})
    INSERT INTO polls (source, started_at, finished_at, status, leads_listed, http_status) SELECT 'main', at, at, iif(n % 5000 = 0, 'failed', 'unchanged'), :leads, 304
    FROM (SELECT n, strftime('%Y-%m-%dT%H:%M:%fZ', (:now - (${POLLS} - n) * 30000) / 1000.0, 'unixepoch') AS at FROM numbers)`);
  counted(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${REJECTED})
    INSERT INTO rejected_leads (source, poll_id, last_poll_id, position, lead_id, reason, path, resolved_at, hash, raw)
    SELECT 'main', 1, ${POLLS}, n, :leads + n, iif(n % 3 = 0, 'is missing', 'is no text'), iif(n % 2 = 0, 'client_name', 'service_slug'),
      iif(n % 2 = 0, strftime('%Y-%m-%dT%H:%M:%fZ', :now / 1000.0, 'unixepoch'), NULL), lower(hex(randomblob(16))), '{"id":' || (:leads + n) || '}' FROM numbers`);
  counted(`UPDATE _sinks SET owed_through = :leads, backfill_to = :leads, pending = (SELECT count(*) FROM _deliveries d WHERE d.sink_no = _sinks.sink_no AND d.state = 'pending'),
    delivered = (SELECT count(*) FROM _deliveries d WHERE d.sink_no = _sinks.sink_no AND d.state = 'delivered' AND :now)`);
  counted(
    `UPDATE _sources SET leads = :leads, listed = :leads, current = :leads, complete_at = :now, first_listed_at = 0`,
  );
}
