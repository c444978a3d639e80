import type { LeadRow } from '../../ledger/contract/page-rows.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Returns the present state of leads, by source and id, in the order given. Leaves out unknown leads. */
export async function leadRows(
  tx: Transaction,
  leads: readonly { readonly source: string; readonly id: string }[],
): Promise<LeadRow[]> {
  if (leads.length === 0) return [];
  return tx.rows(LEADS, [texts(leads.map(({ source }) => source)), leads.map(({ id }) => BigInt(id))]);
}

/** When a complete listing first did not contain the lead `l`, in ms; null if the lead is listed. */
export const GONE_AT =
  'CASE WHEN l.last_listed_at IS NOT NULL THEN (SELECT p.noted_at FROM _presence p WHERE p.source = l.source AND p.id = l.id) END';

/** The number of sinks to which the lead `l` is or was owed, and of these, the numbers of those for which its last delivery is delivered or dead. */
export const PROGRESS = `SELECT count(*) AS owed, count(*) FILTER (WHERE d.state = 'delivered') AS delivered, count(*) FILTER (WHERE d.state = 'dead') AS dead
     FROM (SELECT DISTINCT ON (e.sink_no) e.state FROM _versions v JOIN _deliveries e ON e.version_no = v.version_no
       WHERE v.source = l.source AND v.id = l.id ORDER BY e.sink_no, e.delivery_no DESC) d WHERE d.state <> 'skipped'`;

/** `c` is the present version of the lead. */
const LEADS = statement<LeadRow>(
  'lead-rows',
  `SELECT l.source, l.id::text AS lead, c.service_slug AS service, c.version, c.created_at AS "createdAt", c.first_seen_at AS "firstSeenAt",
     c.valid_from AS "changedAt", l.last_listed_at AS "lastListedAt", ${GONE_AT} AS "goneAt",
     n.owed AS "owedSinks", n.delivered AS "deliveredSinks", n.dead AS "deadSinks"
   FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS g (source, id, place)
   JOIN _leads l ON l.source = g.source AND l.id = g.id JOIN _versions c ON c.version_no = l.version_no
   CROSS JOIN LATERAL (${PROGRESS}) n ORDER BY g.place`,
);
