import type Database from 'better-sqlite3';
import type { DeliveredLead, LeadAtSink } from '../../leads/lead-at-sink.ts';
import type { LeadKey } from '../../leads/person.ts';

/** Reads which leads a sink received, so that `reconcile` can compare them with the destination. */
export class Comparing {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = prepare(db);
  }

  states(sink: string, leads: readonly LeadKey[]): LeadAtSink[] {
    return leads.map(({ source, leadId: id }) => {
      const row = this.#sql.state.get({ sink, source, id });
      return {
        lead: row?.no,
        erased: row?.erased === 1,
        delivered: row?.version ?? undefined,
        owed: row?.owed === 1,
      };
    });
  }

  delivered(sink: string, except: { from: Date; to: Date }, after: number, limit: number): DeliveredLead[] {
    const [from, to] = [except.from.getTime(), except.to.getTime()];
    const rows = this.#sql.delivered.all({ sink, from, to, after, limit });
    return rows.map(({ no, source, id, version, owed }) => ({
      lead: no,
      source,
      leadId: BigInt(id),
      version: version ?? undefined,
      owed: owed === 1,
    }));
  }
}

/**
 * The deliveries of the lead `l` to the sink `:sink`. The `+` makes SQLite search by lead instead of scanning all deliveries of the sink.
 */
const DELIVERIES = `_versions w JOIN _deliveries d ON d.version_no = w.version_no
  WHERE w.source = l.source AND w.id = l.id AND +d.sink_no = (SELECT sink_no FROM _sinks WHERE sink = :sink)`;
const OWED = `EXISTS (SELECT 1 FROM ${DELIVERIES} AND d.state = 'pending') AS owed`;
const VERSION = (also: string) =>
  `(SELECT max(w.version) FROM ${DELIVERIES} AND d.state = 'delivered' ${also}) AS version`;

function prepare(db: Database.Database) {
  return {
    state: db.prepare<
      [{ sink: string; source: string; id: bigint }],
      { no: number; erased: number; version: number | null; owed: number }
    >(
      `SELECT l.first_no AS no, l.erased_no IS NOT NULL AS erased, ${VERSION('')}, ${OWED}
       FROM _leads l WHERE l.source = :source AND l.id = :id`,
    ),
    // A lead has the number of its first version.
    delivered: db.prepare<
      [{ sink: string; from: number; to: number; after: number; limit: number }],
      { no: number; source: string; id: string; version: number | null; owed: number }
    >(
      `SELECT v.version_no AS no, v.source, CAST(v.id AS TEXT) AS id, ${VERSION('AND (d.settled_at <= :from OR d.settled_at > :to)')}, ${OWED}
       FROM _versions v CROSS JOIN _leads l ON l.source = v.source AND l.id = v.id
       WHERE v.version = 1 AND v.version_no > :after AND l.erased_no IS NULL ORDER BY v.version_no LIMIT :limit`,
    ),
  };
}
