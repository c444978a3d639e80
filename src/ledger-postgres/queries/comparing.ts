import type { DeliveredLead, LeadAtSink } from '../../leads/lead-at-sink.ts';
import type { LeadKey } from '../../leads/person.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Returns what the ledger knows about leads that a destination stores, in the order given. */
export async function leadsAtSink(
  tx: Transaction,
  sink: string,
  leads: readonly LeadKey[],
): Promise<LeadAtSink[]> {
  const asked = [texts(leads.map(({ source }) => source)), leads.map(({ leadId }) => leadId)];
  return (await tx.rows(STATES, [...asked, sink])).map(({ no, erased, version, owed }) => ({
    lead: no ?? undefined,
    erased,
    delivered: version ?? undefined,
    owed,
  }));
}

/** Returns leads with numbers above `after`, as `LedgerQueries.deliveredLeads` describes. */
export async function deliveredLeads(
  tx: Transaction,
  sink: string,
  except: { readonly from: Date; readonly to: Date },
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<DeliveredLead[]> {
  const values = [sink, except.from.getTime(), except.to.getTime(), after, limit];
  return (await tx.rows(DELIVERED, values)).map(({ no, source, id, version, owed }) => ({
    lead: no,
    source,
    leadId: BigInt(id),
    version: version ?? undefined,
    owed,
  }));
}

/** What the deliveries of the lead `l` to a sink say. `of` are conditions on a delivery that counts as delivered. */
const atSink = (
  sink: string,
  of = '',
) => `(SELECT max(w.version) FILTER (WHERE d.state = 'delivered' ${of}) AS version,
    coalesce(bool_or(d.state = 'pending'), false) AS owed
  FROM _versions w JOIN _deliveries d ON d.version_no = w.version_no AND d.sink_no = (SELECT s.sink_no FROM _sinks s WHERE s.sink = ${sink})
  WHERE w.source = l.source AND w.id = l.id)`;

const STATES = statement<{ no: number | null; erased: boolean; version: number | null; owed: boolean }>(
  'leads-at-sink',
  `SELECT l.first_no AS no, l.erased_no IS NOT NULL AS erased, n.version, n.owed
   FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS g (source, id, place)
   LEFT JOIN _leads l ON l.source = g.source AND l.id = g.id CROSS JOIN LATERAL ${atSink('$3')} n ORDER BY g.place`,
);

// A lead has the number of its first version.
const DELIVERED = statement<{
  no: number;
  source: string;
  id: string;
  version: number | null;
  owed: boolean;
}>(
  'delivered-leads',
  `SELECT v.version_no AS no, v.source, v.id::text AS id, n.version, n.owed
   FROM _versions v JOIN _leads l ON l.source = v.source AND l.id = v.id
   CROSS JOIN LATERAL ${atSink('$1', 'AND (d.settled_at <= $2 OR d.settled_at > $3)')} n
   WHERE v.version = 1 AND v.version_no > $4 AND l.erased_no IS NULL ORDER BY v.version_no LIMIT $5`,
);
