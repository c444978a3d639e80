import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type { Upcoming } from '../contract/status-rows.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';
import { neverOwed, type OwedRow, owedNext, type VersionRow } from '../rules/queries/upcoming.ts';
import { changedAt, deliveryId, KEEPS_MAPPING } from '../schema/views.ts';

interface LeadRow {
  source: string;
  version_no: number;
}

/** Reads the next delivery of a lead to a sink. */
export class UpcomingDeliveries {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = prepare(db);
  }

  of(sink: string, lead: LeadId, source: string | undefined): Upcoming[] {
    const leads = this.#sql.leads.all(lead, source ?? null, source ?? null, sink);
    return leads.map((found) => {
      const { source, version_no } = found;
      const owed = this.#sql.owed.get(source, lead, sink);
      const key = { source, leadId: lead };
      return owed
        ? owedNext(key, owed)
        : neverOwed(sink, key, this.#sql.version.get(version_no) as VersionRow);
    });
  }

  /** Returns the number of a sink's pending deliveries that keep the mapping of an earlier attempt. */
  sentPending(sink: string): number {
    return this.#sql.sentPending.get(sink) ?? 0;
  }
}

function prepare(db: Database.Database) {
  const content = (validFrom: string) =>
    `v.version, v.first_seen_at, ${validFrom} AS valid_from, v.poll_id, v.hash, v.raw`;
  return {
    // Includes a lead without content if the sink has a delivery of the event `erased` for it.
    leads: db.prepare<[LeadId, string | null, string | null, string], LeadRow>(
      `SELECT l.source, l.version_no FROM _sources o CROSS JOIN _leads l ON l.source = o.source AND l.id = ?
       WHERE (? IS NULL OR o.source = ?) AND (${HAS_CONTENT} OR EXISTS (SELECT 1 FROM _deliveries d JOIN _sinks s ON s.sink_no = d.sink_no
         WHERE d.version_no = l.version_no AND d.event = 'erased' AND s.sink = ?)) ORDER BY l.source`,
    ),
    version: db.prepare<[number], VersionRow>(
      `SELECT ${content('v.valid_from')} FROM _versions v WHERE v.version_no = ?`,
    ),
    sentPending: db
      .prepare<[string], number>(
        `SELECT count(*) FROM _deliveries d WHERE d.sink_no = (SELECT sink_no FROM _sinks WHERE sink = ?) AND d.state = 'pending' AND ${KEEPS_MAPPING}`,
      )
      .pluck(),
    // The oldest pending delivery or, if none is pending, the last delivery.
    owed: db.prepare<[string, LeadId, string], OwedRow>(
      `SELECT ${deliveryId} AS delivery, d.event, d.replay, d.was_left_out, d.state, d.reason, d.settled_at, ${KEEPS_MAPPING} AS keeps_mapping,
         iif(d.mapping_no IS NULL, NULL, coalesce((SELECT m.text FROM _mappings m WHERE m.mapping_no = d.mapping_no), 'lost')) AS mapping, ${content(changedAt)}
       FROM _versions v JOIN _sinks s JOIN _deliveries d ON d.version_no = v.version_no AND d.sink_no = s.sink_no
       WHERE v.source = ? AND v.id = ? AND s.sink = ?
       ORDER BY d.state = 'pending' DESC, iif(d.state = 'pending', d.delivery_no, -d.delivery_no) LIMIT 1`,
    ),
  };
}
