import type { Speed } from '../../ledger/contract/page-rows.ts';
import { type Arrival, sampleOf, speedOf } from '../../ledger/rules/queries/speed.ts';
import { IS_NEW_LEAD } from '../database/delivery-sql.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Returns how fast new leads that were first seen since a time were delivered to a sink. Measures a sample of up to 1,000 versions. */
export async function speedOfSink(
  tx: Transaction,
  { sinkNo, name }: { readonly sinkNo: number; readonly name: string },
  since: Date,
): Promise<Speed> {
  const { first = null, last = null } = (await tx.first(RANGE, [since.getTime()])) ?? {};
  if (first === null || last === null) return speedOf(name, []);
  return speedOf(name, await tx.rows(ARRIVALS, [sampleOf(first, last), sinkNo]));
}

/** The first version of a lead that was first seen since a time, and the last version of all. */
const RANGE = statement<{ first: number | null; last: number | null }>(
  'versions-since',
  `SELECT min(f.version_no) AS first, (SELECT max(version_no) FROM _versions) AS last FROM _sources o
   CROSS JOIN LATERAL (SELECT v.version_no FROM _versions v WHERE v.version = 1 AND v.source = o.source AND v.valid_from >= $1
     ORDER BY v.valid_from, v.version_no LIMIT 1) f`,
);

// Each version and delivery is looked up by its key: the condition on the state would offer the index of all that a sink was ever delivered.
const ARRIVALS = statement<Arrival>(
  'arrivals',
  `SELECT d.sink_no AS "sinkNo", v.first_seen_at AS seen, v.created_at AS created, d.settled_at AS delivered
   FROM unnest($1::bigint[]) AS n (no) CROSS JOIN LATERAL (SELECT * FROM _versions y WHERE y.version_no = n.no OFFSET 0) v
   JOIN _sources o ON o.source = v.source
   CROSS JOIN LATERAL (SELECT * FROM _deliveries y WHERE y.version_no = v.version_no AND y.sink_no = $2 OFFSET 0) d
   WHERE v.version = 1 AND d.state = 'delivered' AND ${IS_NEW_LEAD}`,
);
