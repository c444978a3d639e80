import type { LeadId } from '../../leads/lead.ts';
import type { Upcoming } from '../../ledger/contract/status-rows.ts';
import { neverOwed, type OwedRow, owedNext, type VersionRow } from '../../ledger/rules/queries/upcoming.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { DELIVERY_ID, HAS_CONTENT, KEEPS_MAPPING } from '../schema/delivery-sql.ts';

/** Returns, for each source that has a lead with that id, the next delivery of the lead to the sink. */
export async function upcoming(
  tx: Transaction,
  sink: string,
  lead: LeadId,
  source: string | undefined,
): Promise<Upcoming[]> {
  const next: Upcoming[] = [];
  for (const found of await tx.rows(LEADS, [lead, source ?? null, sink])) {
    const key = { source: found.source, leadId: lead };
    const owed = await tx.first(OWED, [found.source, lead, sink]);
    if (owed) next.push(owedNext(key, owed));
    else next.push(neverOwed(sink, key, (await tx.first(VERSION, [found.version_no])) as VersionRow));
  }
  return next;
}

/** Returns the number of a sink's pending deliveries that keep the mapping of an earlier attempt. */
export async function sentPending(tx: Transaction, sink: string): Promise<number> {
  return (await tx.first(SENT_PENDING, [sink]))?.deliveries ?? 0;
}

const content = (validFrom: string) =>
  `v.version, v.first_seen_at, ${validFrom} AS valid_from, v.poll_id, v.hash, v.raw`;

// Includes a lead without content if the sink has a delivery of the event `erased` for it.
const LEADS = statement<{ source: string; version_no: number }>(
  'upcoming-leads',
  `SELECT l.source, l.version_no FROM _sources o JOIN _leads l ON l.source = o.source AND l.id = $1::bigint
   WHERE ($2::text IS NULL OR o.source = $2) AND (${HAS_CONTENT} OR EXISTS (SELECT 1 FROM _deliveries d WHERE d.version_no = l.version_no
     AND d.sink_no = (SELECT s.sink_no FROM _sinks s WHERE s.sink = $3) AND d.event = 'erased' OFFSET 0)) ORDER BY l.source`,
);

const VERSION = statement<VersionRow>(
  'upcoming-version',
  `SELECT ${content('v.valid_from')} FROM _versions v WHERE v.version_no = $1`,
);

const SENT_PENDING = statement<{ deliveries: number }>(
  'sent-pending',
  `SELECT count(*) AS deliveries FROM _deliveries d WHERE d.sink_no = (SELECT sink_no FROM _sinks WHERE sink = $1) AND d.state = 'pending' AND ${KEEPS_MAPPING}`,
);

// The oldest pending delivery or, if none is pending, the last delivery.
const OWED = statement<OwedRow>(
  'upcoming-owed',
  `SELECT ${DELIVERY_ID} AS delivery, d.event, d.replay, d.was_left_out, d.state, d.reason, d.settled_at, ${KEEPS_MAPPING}::int AS keeps_mapping,
   CASE WHEN d.mapping_no IS NOT NULL THEN coalesce((SELECT m.text FROM _mappings m WHERE m.mapping_no = d.mapping_no), 'lost') END AS mapping,
   ${content("CASE WHEN d.event = 'erased' THEN d.owed_at ELSE v.valid_from END")}
   FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no JOIN _sinks s ON s.sink_no = d.sink_no
   WHERE v.source = $1 AND v.id = $2 AND s.sink = $3
   ORDER BY d.state = 'pending' DESC, CASE WHEN d.state = 'pending' THEN d.delivery_no ELSE -d.delivery_no END LIMIT 1`,
);
