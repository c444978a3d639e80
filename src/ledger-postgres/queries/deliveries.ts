import type { DeliveryFilter } from '../../ledger/contract/ledger-queries.ts';
import type { DeliveryRow } from '../../ledger/contract/status-rows.ts';
import { parseDeliveryId } from '../../ledger/rules/delivery-id.ts';
import { type MadeAttempts, type RawDelivery, toDeliveryRow } from '../../ledger/rules/delivery-rows.ts';
import { DELIVERY_ID } from '../database/delivery-sql.ts';
import { statement, texts, type Value } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

type Row = RawDelivery & MadeAttempts & { at: number; no: number };

/** Returns deliveries, newest first. `before` is the id of the last delivery of the previous page. */
export async function newestDeliveries(
  tx: Transaction,
  filter: DeliveryFilter,
  { limit, before }: { readonly limit: number; readonly before?: string | undefined },
): Promise<DeliveryRow[]> {
  let [at, no] = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  if (before !== undefined) {
    const [last] = await tx.rows(NEWEST, [...parametersOf({ delivery: before }), at, no, 1]);
    if (!last) return [];
    [at, no] = [last.at, last.no];
  }
  const rows = await tx.rows(NEWEST, [...parametersOf(filter), at, no, limit]);
  return rows.map((row) => toDeliveryRow(row, row));
}

/** Returns the numbers of deliveries after a position, newest first, and the position after the last of them. */
export async function deliveryNumbers(
  tx: Transaction,
  filter: DeliveryFilter,
  after: { readonly at: number; readonly no: number },
  limit: number,
): Promise<readonly { readonly at: number; readonly no: number }[]> {
  return tx.rows(NUMBERS, [...parametersOf(filter), after.at, after.no, limit]);
}

/** Returns how many deliveries of a sink are due and in no batch. Stops at `most`. */
export async function countDue(tx: Transaction, sink: string, now: Date, most: number): Promise<number> {
  return (await tx.first(COUNT_DUE, [sink, now.getTime(), most]))?.due ?? 0;
}

/** Returns the parameters of `MATCHES`. */
function parametersOf(filter: DeliveryFilter): Value[] {
  const { sink, source, lead, delivery, since, until, states, reason, deliveredSince, deliveredUntil } =
    filter;
  const id = delivery === undefined ? undefined : parseDeliveryId(delivery);
  return [
    sink ?? null,
    source ?? null,
    lead ?? null,
    delivery === undefined ? null : id === undefined ? '' : id.nameInIds,
    id?.source ?? null,
    id?.lead ?? null,
    id?.version ?? null,
    id?.hash ?? null,
    id?.replay ?? null,
    id?.reissued ?? null,
    since?.getTime() ?? null,
    until?.getTime() ?? null,
    states === undefined ? null : texts(states),
    reason?.toLowerCase() ?? null,
    reason !== undefined && /^[1-5]\d\d$/.test(reason) ? Number(reason) : null,
    deliveredSince?.getTime() ?? null,
    deliveredUntil?.getTime() ?? null,
  ];
}

const HAS_REASON = "strpos(lower(coalesce(d.reason, '')), $14) > 0";
const LAST_STATUS =
  '(SELECT a.http_status FROM _attempts a WHERE a.delivery_no = d.delivery_no ORDER BY a.attempt_no DESC LIMIT 1)';

const MATCHES = `($1::text IS NULL OR s.sink = $1) AND ($2::text IS NULL OR v.source = $2) AND ($3::bigint IS NULL OR v.id = $3)
  AND ($4::text IS NULL OR (coalesce(s.named, s.sink) = $4 AND v.source = $5 AND v.id = $6::bigint AND v.version = $7::int
    AND substr(v.hash, 1, 8) = $8 AND d.replay = $9::bigint AND d.reissued = $10::int))
  AND ($11::bigint IS NULL OR d.owed_at >= $11) AND ($12::bigint IS NULL OR d.owed_at < $12)
  AND ($13::text[] IS NULL OR d.state = ANY ($13) OR (d.state = 'skipped' AND d.discarded = 1 AND 'discarded' = ANY ($13)))
  AND ($14::text IS NULL OR CASE WHEN $15::int IS NULL THEN ${HAS_REASON}
    ELSE (d.reason IS NOT NULL OR d.state = 'delivered') AND coalesce(${LAST_STATUS} = $15, ${HAS_REASON}) END)
  AND ($16::bigint IS NULL OR (d.state = 'delivered' AND d.settled_at >= $16))
  AND ($17::bigint IS NULL OR (d.state = 'delivered' AND d.settled_at < $17))`;

const FROM = `_deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no
  WHERE ${MATCHES} AND (d.owed_at, d.delivery_no) < ($18::bigint, $19::bigint) ORDER BY d.owed_at DESC, d.delivery_no DESC LIMIT $20`;

const NEWEST = statement<Row>(
  'newest-deliveries',
  `SELECT n.*, coalesce(m.made, 0) AS made, coalesce(m.answered, 0) AS answered FROM (SELECT d.delivery_no, d.owed_at AS at, d.delivery_no AS no,
     ${DELIVERY_ID} AS delivery, v.source, v.id::text AS id, v.version, d.event, s.sink, d.state, d.reason, d.attempts, d.replay, d.owed_at,
     d.next_attempt_at, d.batch_no, d.settled_at, d.discarded, d.ref FROM ${FROM}) n
   LEFT JOIN LATERAL (SELECT sum(a.times)::bigint AS made, max((a.answer <> '')::int) AS answered FROM _attempts a WHERE a.delivery_no = n.delivery_no) m ON true
   ORDER BY n.at DESC, n.no DESC`,
);

const NUMBERS = statement<{ at: number; no: number }>(
  'delivery-numbers',
  `SELECT d.owed_at AS at, d.delivery_no AS no FROM ${FROM}`,
);

const COUNT_DUE = statement<{ due: number }>(
  'count-due',
  `SELECT count(*) AS due FROM (SELECT 1 FROM _deliveries WHERE sink_no = (SELECT sink_no FROM _sinks WHERE sink = $1)
   AND state = 'pending' AND batch_no IS NULL AND next_attempt_at <= $2 LIMIT $3) n`,
);
