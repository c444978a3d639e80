import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import type { DeclaredSource, LastDeclaration } from '../contract/declaration.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { LEAVE_BATCH } from '../privacy/erasing.ts';
import { FORGOTTEN } from '../rules/delivering/superseding.ts';

/** The pending deliveries `d` of a sink, with their batch `b`, except those that are being attempted. Parameters: the sink, and the current time. */
const IDLE = "d.sink_no = +? AND d.state = 'pending' AND (b.holder IS NULL OR b.leased_until <= +?)";

const FORGET_CHUNK = 500;

/**
 * Records which sources are configured, returns what was declared last, and skips the deliveries of forgotten sinks. Runs inside its
 * caller's transaction.
 */
export class Declaring {
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows) {
    this.#clock = clock;
    this.#rows = rows;
    this.#sql = {
      addSource: db.prepare('INSERT INTO _sources (source) VALUES (?) ON CONFLICT DO NOTHING'),
      configure: db.prepare('UPDATE _sources SET config = ? WHERE source = ?'),
      undeclare: db.prepare(
        'UPDATE _sources SET config = NULL WHERE source NOT IN (SELECT value FROM json_each(?))',
      ),
      sources: db.prepare<[], { name: string; config: string | null; leads: number; origin: string | null }>(
        'SELECT source AS name, config, leads, iif(leads > 0, origin, NULL) AS origin FROM _sources ORDER BY source',
      ),
      missed: db.prepare<[number], number>('SELECT count(*) FROM _leads WHERE version_no > ?').pluck(),
      // Excludes deliveries in an attempt: those of a batch that a process holds until its lease expires. Takes other batches as a whole,
      // because a late outcome must match its batch.
      idle: db
        .prepare<[number, number, number], number>(
          `WITH some AS (SELECT d.delivery_no, d.batch_no FROM _deliveries d LEFT JOIN _batches b ON b.batch_no = d.batch_no
           WHERE ${IDLE} LIMIT +?)
           SELECT delivery_no FROM some UNION
           SELECT o.delivery_no FROM (SELECT DISTINCT batch_no FROM some WHERE batch_no IS NOT NULL) s CROSS JOIN _deliveries o ON o.batch_no = s.batch_no`,
        )
        .pluck(),
      countIdle: db
        .prepare<[number, number], number>(
          `SELECT count(*) FROM _deliveries d LEFT JOIN _batches b ON b.batch_no = d.batch_no
           WHERE ${IDLE}`,
        )
        .pluck(),
      skip: db.prepare(
        `UPDATE _deliveries SET state = 'skipped', reason = ?, settled_at = ?, next_attempt_at = NULL, ${LEAVE_BATCH}
         WHERE delivery_no IN (SELECT value FROM json_each(?))`,
      ),
      endBatches: db.prepare(
        'DELETE FROM _batches AS b WHERE sink_no = ? AND NOT EXISTS (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no)',
      ),
    };
  }

  sources(sources: readonly DeclaredSource[]): void {
    this.#sql.undeclare.run(JSON.stringify(sources.map(({ name }) => name)));
    for (const { name, config } of sources) {
      this.#sql.addSource.run(name);
      this.#sql.configure.run(config, name);
    }
  }

  last(): LastDeclaration {
    return {
      sources: this.#sql.sources.all().map(({ config, origin, ...row }) => ({
        ...row,
        config: config ?? undefined,
        origin: origin ?? undefined,
      })),
      sinks: this.#rows.all().map(({ name, active, nameInIds, config, counts, owedThrough, health }) => ({
        name,
        active,
        nameInIds,
        config,
        pending: counts.pending,
        dead: counts.dead,
        missed: active ? 0 : (this.#sql.missed.get(owedThrough) ?? 0),
        quota: health.quota,
      })),
    };
  }

  /** Whether the ledger has this sink although it is no longer declared. */
  isOrphan(name: string): boolean {
    return this.#rows.get(name)?.active === false;
  }

  /** Counts the pending deliveries that `forgetChunk` would skip. */
  forgettable(name: string): number {
    const sink = this.#rows.get(name);
    return sink ? (this.#sql.countIdle.get(sink.sinkNo, this.#clock.now().getTime()) ?? 0) : 0;
  }

  /** Skips one chunk of the pending deliveries of a sink that is no longer declared. Returns how many it skipped; 0 if none is left. */
  forgetChunk(name: string): number {
    const sink = this.#rows.get(name);
    if (!sink || sink.active) return 0;
    const now = this.#clock.now().getTime();
    const some = this.#sql.idle.all(sink.sinkNo, now, FORGET_CHUNK);
    this.#sql.skip.run(FORGOTTEN, now, JSON.stringify(some));
    this.#sql.endBatches.run(sink.sinkNo);
    this.#rows.count(name, 'pending', -some.length);
    this.#rows.count(name, 'skipped', some.length);
    return some.length;
  }
}
