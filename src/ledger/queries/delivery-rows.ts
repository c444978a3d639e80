import type Database from 'better-sqlite3';
import type { DeliveryRow } from '../contract/status-rows.ts';
import { deliveryId } from '../database/views.ts';
import type { FilterSql } from './filter-sql.ts';

/** Deliveries `d` with their versions `v` and sinks `s`, as `filterSql` names them. */
export const DELIVERIES =
  '_deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no';

/** A delivery as a row from SQLite. */
export interface RawDelivery {
  delivery_no: number;
  delivery: string;
  source: string;
  id: string;
  version: number;
  event: DeliveryRow['event'];
  sink: string;
  state: DeliveryRow['state'];
  reason: string | null;
  attempts: number;
  replay: number;
  owed_at: number;
  next_attempt_at: number | null;
  settled_at: number | null;
}

/** Returns the deliveries that match a filter, newest first. */
export function selectDeliveries(
  db: Database.Database,
  { where, values }: FilterSql,
  limit: number,
): DeliveryRow[] {
  const rows = db
    .prepare<(string | number | bigint)[], RawDelivery>(
      `SELECT d.*, ${deliveryId} AS delivery, v.source, CAST(v.id AS TEXT) AS id, v.version, s.sink FROM ${DELIVERIES}
       WHERE ${where} ORDER BY d.delivery_no DESC LIMIT ?`,
    )
    .all(...values, limit);
  return rows.map(toDeliveryRow);
}

/** Converts a row from SQLite. */
export function toDeliveryRow(row: RawDelivery): DeliveryRow {
  return {
    delivery: row.delivery,
    source: row.source,
    lead: row.id,
    version: row.version,
    event: row.event,
    sink: row.sink,
    state: row.state,
    reason: row.reason ?? undefined,
    attempts: row.attempts,
    replay: row.replay > 0,
    owedAt: new Date(row.owed_at),
    nextAttemptAt: dateOf(row.next_attempt_at),
    settledAt: dateOf(row.settled_at),
  };
}

/** Returns the date of a stored time in ms since 1970; undefined if there is none. */
export function dateOf(ms: number | null | undefined): Date | undefined {
  return ms == null ? undefined : new Date(ms);
}
