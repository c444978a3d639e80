import { findSink } from '../database/sinks.ts';
import { type Statement, statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { type Place, START } from './claim-floors.ts';
import { UNBLOCKED } from './content-order-sql.ts';

/** Maximum number of deliveries or batches that one transaction reads to find a probe. */
const CHUNK = 1_000;

/** What a claim may take as the probe of a held sink: a delivery in no batch, or a batch whose lease has expired, by its number. */
export interface Probe {
  readonly kind: 'delivery' | 'batch';
  readonly no: number;
}

/** A delivery or batch that is due. */
interface Candidate {
  readonly no: number;
  readonly due_at: number;
  /** Whether it would be a poor probe, because a sink that works may refuse it. */
  readonly is_poor: boolean;
  /** Whether nothing has to be delivered before it. */
  readonly is_ready: boolean;
}

type Read = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;

/**
 * Finds the next probe of a held sink: the batch or lead that has waited longest, so that a lead that always fails cannot prevent others from
 * being the probe. Prefers those whose outcome would be conclusive, because a sink that works may still refuse a lead that was refused before.
 * Returns undefined if none is due. A backlog may consist of others, so this reads in parts, without a lock: the claim that takes the probe
 * checks it again.
 */
export async function findProbe(read: Read, name: string): Promise<Probe | undefined> {
  const leads = await search(read, DELIVERIES, name);
  const batches = await search(read, BATCHES, name);
  return earlier(leads.conclusive, batches.conclusive) ?? earlier(leads.first, batches.first);
}

function earlier(lead: Candidate | undefined, batch: Candidate | undefined): Probe | undefined {
  if (lead && (!batch || lead.due_at < batch.due_at)) return { kind: 'delivery', no: lead.no };
  return batch && { kind: 'batch', no: batch.no };
}

/** Finds the first candidate, and the first one whose outcome would be conclusive. */
async function search(read: Read, sql: Statement<Candidate>, name: string) {
  let first: Candidate | undefined;
  for (let after: Place | undefined = START; after !== undefined; ) {
    const from: Place = after;
    const rows = await read(async (tx) => {
      const sink = await findSink(tx, name);
      return sink ? tx.rows(sql, [sink.sinkNo, tx.now, ...from, CHUNK]) : [];
    });
    const ready = rows.filter(({ is_ready }) => is_ready);
    first ??= ready[0];
    const conclusive = ready.find(({ is_poor }) => !is_poor);
    if (conclusive) return { first, conclusive };
    const last = rows.length < CHUNK ? undefined : rows.at(-1);
    after = last && [last.due_at, last.no];
  }
  return { first, conclusive: undefined };
}

/**
 * Whether the delivery `d` would be a poor probe: it was refused before, or its event is `erased`, which a destination may refuse because it
 * does not know the lead.
 */
const IS_POOR = "(d.refused_at IS NOT NULL OR d.retried_at IS NOT NULL OR d.event = 'erased')";

const DELIVERIES = statement<Candidate>(
  'deliveries-to-probe',
  `SELECT d.delivery_no AS no, d.next_attempt_at AS due_at, ${IS_POOR} AS is_poor, ${UNBLOCKED} AS is_ready
   FROM (SELECT * FROM _deliveries w WHERE w.sink_no = $1 AND w.state = 'pending' AND w.batch_no IS NULL
     AND (w.next_attempt_at, w.delivery_no) > ($3, $4) AND w.next_attempt_at <= $2 ORDER BY w.next_attempt_at, w.delivery_no LIMIT $5) d
   ORDER BY d.next_attempt_at, d.delivery_no`,
);

const BATCHES = statement<Candidate>(
  'batches-to-probe',
  `SELECT b.batch_no AS no, b.leased_until AS due_at, EXISTS (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no AND ${IS_POOR}) AS is_poor,
     true AS is_ready
   FROM (SELECT batch_no, leased_until FROM _batches WHERE sink_no = $1 AND leased_until <= $2 AND (leased_until, batch_no) > ($3, $4)
     ORDER BY leased_until, batch_no LIMIT $5) b ORDER BY b.leased_until, b.batch_no`,
);
