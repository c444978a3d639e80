import type { LeadId } from '../../leads/lead.ts';
import type { TraceEntry } from '../../ledger/contract/status-rows.ts';
import {
  attemptEntry,
  rejectedEntries,
  type TracedAttempt,
  type TracedRejection,
  type TracedVersion,
  traceOf,
  versionEntry,
} from '../../ledger/rules/queries/trace-entries.ts';
import { countedSinks } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { DELIVERY_ID } from '../schema/delivery-sql.ts';
import { MAX_OF_ONE_LEAD, newestDeliveries } from './delivery-list.ts';

/** Returns the history of a lead, in chronological order. */
export async function trace(tx: Transaction, lead: LeadId, source?: string): Promise<TraceEntry[]> {
  const asked = [lead, source ?? null];
  const deliveries = await newestDeliveries(tx, { lead, source }, { limit: MAX_OF_ONE_LEAD });
  const sinks = new Map((await countedSinks(tx)).map((sink) => [sink.name, sink]));
  return traceOf(deliveries.reverse(), sinks, {
    rejections: (await tx.rows(REJECTIONS, asked)).flatMap(rejectedEntries),
    versions: (await tx.rows(VERSIONS, asked)).map(versionEntry),
    attempts: (await tx.rows(ATTEMPTS, asked)).map(attemptEntry),
  });
}

const REJECTIONS = statement<TracedRejection>(
  'rejections-of-lead',
  `SELECT r.source, p.started_at AS at, r.reason, r.path, r.resolved_at FROM _rejected_leads r JOIN _polls p ON p.poll_id = r.poll_id
   WHERE r.lead_id = $1 AND ($2::text IS NULL OR r.source = $2) ORDER BY r.rejected_id`,
);
/** The versions `v` of a lead. Names every source, so that the index by source and lead is used. */
const OF_LEAD =
  'v.source IN (SELECT o.source FROM _sources o WHERE $2::text IS NULL OR o.source = $2) AND v.id = $1';
const VERSIONS = statement<TracedVersion>(
  'versions-of-lead',
  `SELECT v.source, v.version, v.valid_from, v.poll_id, v.changed_fields FROM _versions v WHERE ${OF_LEAD} ORDER BY v.version_no`,
);
const ATTEMPTS = statement<TracedAttempt>(
  'attempts-of-lead',
  `SELECT ${DELIVERY_ID} AS delivery, s.sink, a.started_at, a.duration_ms, a.outcome, a.http_status, a.answer, a.times, a.last_at,
   CASE WHEN a.outcome = 'delivered' THEN d.ref END AS ref, CASE WHEN a.outcome = 'delivered' THEN d.reason ELSE a.error END AS reason
   FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no JOIN _sinks s ON s.sink_no = d.sink_no
   JOIN _attempts a ON a.delivery_no = d.delivery_no WHERE ${OF_LEAD} ORDER BY a.attempt_no`,
);
