import type Database from 'better-sqlite3';
import type { Outcome } from '../../leads/outcome.ts';
import type { FeedCursor, FeedPage, RecentAttempt } from '../contract/feed-entries.ts';
import type { PollRow } from '../contract/status-rows.ts';
import {
  type FeedAttempt,
  type FeedLead,
  type FeedRejection,
  feedEntries,
  MAX_FEED_ROWS,
} from '../rules/queries/change-feed.ts';
import { deliveryId, IS_NEW_LEAD } from '../schema/views.ts';
import { pollRow } from './status-queries.ts';

interface RecentRow {
  sink: string;
  at: number;
  outcome: Outcome['kind'];
  speed_ms: number | null;
}

/** Reads the change feed: everything recorded after a cursor, by row numbers, which only increase. */
export class ChangeFeed {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = prepare(db);
  }

  /** Returns the cursor at the present end of the feed. */
  now(): FeedCursor {
    const last = this.#sql.last.get() as Omit<FeedCursor, 'polls'>;
    return { ...last, polls: Object.fromEntries(this.#sql.lastPolls.all()) };
  }

  /** Returns the page after a cursor, with up to 500 rows of each kind. `withData` adds the content of leads and the answers from destinations. */
  since(cursor: FeedCursor, withData: boolean): FeedPage {
    const leads = this.#sql.leads.all(Number(withData), cursor.lead, MAX_FEED_ROWS);
    const rejections = this.#sql.rejections.all(cursor.rejection, MAX_FEED_ROWS);
    const attempts = this.#sql.attempts.all(cursor.attempt, MAX_FEED_ROWS);
    const pollsBySource = this.#sql.sources.all().map((source) => this.#pollsOf(source, cursor));
    const polls = pollsBySource.flat();
    return {
      entries: feedEntries({ polls, leads, rejections, attempts }, withData),
      cursor: {
        polls: { ...cursor.polls, ...Object.fromEntries(polls.map(({ source, poll }) => [source, poll])) },
        lead: leads.at(-1)?.no ?? cursor.lead,
        rejection: rejections.at(-1)?.no ?? cursor.rejection,
        attempt: attempts.at(-1)?.no ?? cursor.attempt,
      },
      more: [leads, rejections, attempts, ...pollsBySource].some(({ length }) => length === MAX_FEED_ROWS),
    };
  }

  /** Returns the last `limit` attempts, newest first. */
  recentAttempts(limit: number): RecentAttempt[] {
    return this.#sql.recent.all(limit).map(({ sink, at, outcome, speed_ms }) => ({
      sink,
      at: new Date(at),
      outcome,
      speedMs: speed_ms ?? undefined,
    }));
  }

  /**
   * Returns the finished polls after the cursor. A source has at most one running poll, which is its newest, so the cursor never skips a
   * poll.
   */
  #pollsOf(source: string, { polls }: FeedCursor): PollRow[] {
    return this.#sql.polls.all(source, polls[source] ?? 0, MAX_FEED_ROWS).map(pollRow);
  }
}

function prepare(db: Database.Database) {
  return {
    last: db.prepare(
      `SELECT (SELECT coalesce(max(version_no), 0) FROM _versions) AS lead,
         (SELECT coalesce(max(rejected_id), 0) FROM rejected_leads) AS rejection,
         (SELECT coalesce(max(attempt_no), 0) FROM _attempts) AS attempt`,
    ),
    lastPolls: db
      .prepare<[], [string, number]>(
        `SELECT source, coalesce((SELECT poll_id FROM polls p WHERE p.source = o.source AND p.status <> 'running'
           ORDER BY poll_id DESC LIMIT 1), 0) FROM _sources o`,
      )
      .raw(),
    sources: db.prepare<[], string>('SELECT source FROM _sources').pluck(),
    polls: db.prepare<[string, number, number], Record<string, string | number | null>>(
      "SELECT * FROM polls WHERE source = ? AND poll_id > ? AND status <> 'running' ORDER BY poll_id LIMIT ?",
    ),
    leads: db.prepare<[number, number, number], FeedLead>(
      `SELECT version_no AS no, source, CAST(id AS TEXT) AS lead, version, valid_from AS at, changed_fields, iif(?, raw, NULL) AS raw
       FROM _versions WHERE version_no > ? ORDER BY version_no LIMIT ?`,
    ),
    rejections: db.prepare<[number, number], FeedRejection>(
      `SELECT r.rejected_id AS no, r.source, CAST(r.lead_id AS TEXT) AS lead, r.path, r.reason, p.started_at AS at
       FROM rejected_leads r JOIN polls p ON p.poll_id = r.poll_id WHERE r.rejected_id > ? ORDER BY r.rejected_id LIMIT ?`,
    ),
    recent: db.prepare<[number], RecentRow>(
      `SELECT s.sink, coalesce(a.last_at, a.started_at) + a.duration_ms AS at, a.outcome,
         iif(a.outcome = 'delivered' AND ${IS_NEW_LEAD}, d.settled_at - v.first_seen_at, NULL) AS speed_ms
       FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no JOIN _versions v ON v.version_no = d.version_no
       JOIN _sinks s ON s.sink_no = d.sink_no LEFT JOIN _sources o ON o.source = v.source ORDER BY a.attempt_no DESC LIMIT ?`,
    ),
    attempts: db.prepare<[number, number], FeedAttempt>(
      `SELECT a.attempt_no AS no, ${deliveryId} AS delivery, s.sink, v.source, CAST(v.id AS TEXT) AS lead, a.started_at,
         a.duration_ms, a.outcome, a.http_status, a.error, a.answer, d.state, d.next_attempt_at
       FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no JOIN _versions v ON v.version_no = d.version_no
       JOIN _sinks s ON s.sink_no = d.sink_no WHERE a.attempt_no > ? ORDER BY a.attempt_no LIMIT ?`,
    ),
  };
}
