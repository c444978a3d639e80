import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type { TraceEntry } from '../contract/status-rows.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import {
  attemptEntry,
  rejectedEntries,
  type TracedAttempt,
  type TracedRejection,
  type TracedVersion,
  traceOf,
  versionEntry,
} from '../rules/queries/trace-entries.ts';
import { deliveryId } from '../schema/views.ts';
import type { DeliveryList } from './delivery-list.ts';
import { filterSql } from './filter-sql.ts';

/** Reads the history of a lead, in chronological order. */
export class LeadTrace {
  readonly #db: Database.Database;
  readonly #rows: SinkRows;
  readonly #deliveries: DeliveryList;

  constructor(db: Database.Database, rows: SinkRows, deliveries: DeliveryList) {
    this.#db = db;
    this.#rows = rows;
    this.#deliveries = deliveries;
  }

  of(lead: LeadId, source?: string): TraceEntry[] {
    const deliveries = this.#deliveries
      .ofLead(lead, source)
      .map(({ delivery }) => delivery)
      .reverse();
    const sinks = new Map(this.#rows.all().map((row) => [row.name, row]));
    return traceOf(deliveries, sinks, {
      rejections: this.#rejections(lead, source),
      versions: this.#versions(lead, source),
      attempts: this.#attempts(lead, source),
    });
  }

  /** Returns when the lead was rejected, and when it became valid. */
  #rejections(lead: LeadId, source: string | undefined): TraceEntry[] {
    const rows = this.#db
      .prepare<(string | bigint)[], TracedRejection>(
        `SELECT r.source, p.started_at AS at, r.reason, r.path, r.resolved_at FROM rejected_leads r
         JOIN polls p ON p.poll_id = r.poll_id WHERE r.lead_id = ? ${source ? 'AND r.source = ?' : ''} ORDER BY r.rejected_id`,
      )
      .all(lead, ...(source ? [source] : []));
    return rows.flatMap(rejectedEntries);
  }

  #versions(lead: LeadId, source: string | undefined): TraceEntry[] {
    const rows = this.#db
      .prepare<(string | bigint)[], TracedVersion>(
        `SELECT source, version, valid_from, poll_id, changed_fields FROM _versions WHERE id = ? ${source ? 'AND source = ?' : ''} ORDER BY version_no`,
      )
      .all(lead, ...(source ? [source] : []));
    return rows.map(versionEntry);
  }

  #attempts(lead: LeadId, source: string | undefined): TraceEntry[] {
    const { where, values } = filterSql({ lead, source });
    const rows = this.#db
      .prepare<(string | number | bigint)[], TracedAttempt>(
        `SELECT ${deliveryId} AS delivery, s.sink, a.*, iif(a.outcome = 'delivered', d.ref, NULL) AS ref,
         iif(a.outcome = 'delivered', d.reason, a.error) AS reason FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
         CROSS JOIN _sinks s ON s.sink_no = d.sink_no CROSS JOIN _attempts a ON a.delivery_no = d.delivery_no WHERE ${where} ${source === undefined ? 'AND v.source IN (SELECT source FROM _sources)' : ''} ORDER BY a.attempt_no`,
      )
      .all(...values);
    return rows.map(attemptEntry);
  }
}
