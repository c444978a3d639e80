import type Database from 'better-sqlite3';
import type { DeliveryState } from '../leads/delivery.ts';
import type { LeadId } from '../leads/lead.ts';
import { HEALTHY } from '../leads/sink-health.ts';
import type { Clock } from '../platform/clock.ts';
import { filterSql } from './filter-sql.ts';
import type { DeliveryFilter } from './ledger.ts';
import type { Owing } from './owing.ts';
import type { SinkRows } from './sink-rows.ts';

/** What people change by hand. Runs inside its caller's transaction. */
export class Amending {
  readonly #db: Database.Database;
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #owing: Owing;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows, owing: Owing) {
    this.#db = db;
    this.#clock = clock;
    this.#rows = rows;
    this.#owing = owing;
  }

  /** Leaves alone what is being attempted at this moment. */
  retry(filter: DeliveryFilter): number {
    const states = filter.states ?? ['dead', 'pending'];
    const { where, values } = filterSql({ ...filter, states });
    const chosen = this.#db
      .prepare<
        unknown[],
        { delivery_no: number; batch_no: number | null; sink: string; state: DeliveryState }
      >(
        `SELECT d.delivery_no, d.batch_no, s.sink, d.state FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no
         JOIN _sinks s ON s.sink_no = d.sink_no LEFT JOIN _batches b ON b.batch_no = d.batch_no
         WHERE ${where} AND d.state IN ('dead', 'pending') AND (b.batch_no IS NULL OR b.lease = 0)`,
      )
      .all(...values);
    const now = this.#clock.now().getTime();
    const due = this.#db.prepare(
      `UPDATE _deliveries SET state = 'pending', reason = NULL, attempts = 0, settled_at = NULL, refused_at = NULL, next_attempt_at = ? WHERE delivery_no = ?`,
    );
    const wake = this.#db.prepare('UPDATE _batches SET leased_until = ? WHERE batch_no = ? AND lease = 0');
    for (const row of chosen) {
      due.run(now, row.delivery_no);
      if (row.batch_no !== null) wake.run(now, row.batch_no);
      this.#rows.count(row.sink, row.state, -1);
      this.#rows.count(row.sink, 'pending', 1);
    }
    return chosen.length;
  }

  replay(
    name: string,
    leads: {
      source?: string | undefined;
      lead?: LeadId | undefined;
      since?: Date | undefined;
      until?: Date | undefined;
    },
  ): number {
    const sink = this.#rows.get(name);
    if (!sink) return 0;
    const now = this.#clock.now().getTime();
    const chosen = this.#db
      .prepare<unknown[], { version_no: number; source: string; id: string }>(
        `SELECT l.version_no, l.source, CAST(l.id AS TEXT) AS id FROM _leads l JOIN _versions v ON v.version_no = l.version_no
         WHERE (:source IS NULL OR l.source = :source) AND (:lead IS NULL OR l.id = :lead)
         AND v.first_seen_at >= :since AND v.first_seen_at < :until ORDER BY l.version_no`,
      )
      .all({
        source: leads.source ?? null,
        lead: leads.lead ?? null,
        since: leads.since?.getTime() ?? 0,
        until: leads.until?.getTime() ?? Number.MAX_SAFE_INTEGER,
      });
    const owed = chosen.filter((row) =>
      this.#owing.again(sink, row.version_no, row.source, BigInt(row.id), 'created', now, now),
    );
    return owed.length;
  }

  clockWentBack(byMs: number): number {
    const now = this.#clock.now().getTime();
    const change = `next_attempt_at = max(:now, next_attempt_at - :by) WHERE state = 'pending' AND next_attempt_at > :now`;
    const moved = this.#db.prepare(`UPDATE _deliveries SET ${change}`).run({ now, by: byMs }).changes;
    this.#db
      .prepare('UPDATE _batches SET leased_until = max(:now, leased_until - :by) WHERE leased_until > :now')
      .run({ now, by: byMs });
    for (const { name, health } of this.#rows.all()) {
      const earlier = (date: Date | undefined) =>
        date && new Date(Math.min(date.getTime(), Math.max(now, date.getTime() - byMs)));
      this.#rows.setHealth(name, {
        ...health,
        probeAt: earlier(health.probeAt),
        lastDeliveredAt: earlier(health.lastDeliveredAt),
        refusingSince: earlier(health.refusingSince),
      });
    }
    return moved;
  }

  lastPolledAt(): Date | undefined {
    const at = this.#db
      .prepare<[], string>('SELECT started_at FROM polls ORDER BY poll_id DESC LIMIT 1')
      .pluck()
      .get();
    return at === undefined ? undefined : new Date(at);
  }

  pause(name: string, reason: string): boolean {
    const sink = this.#rows.get(name);
    if (!sink) return false;
    if (!sink.health.pausedSince) {
      this.#rows.setHealth(name, {
        ...sink.health,
        pausedSince: this.#clock.now(),
        pausedReason: reason,
      });
    }
    return true;
  }

  /** Also ends a hold: whoever resumes a sink expects it to be tried now. */
  resume(name: string): boolean {
    const sink = this.#rows.get(name);
    if (!sink) return false;
    this.#rows.setHealth(name, { ...HEALTHY, lastDeliveredAt: sink.health.lastDeliveredAt });
    return true;
  }
}
