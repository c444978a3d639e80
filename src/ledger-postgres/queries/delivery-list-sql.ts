import { STATE_CONDITIONS } from '../../ledger/rules/control/selecting.ts';
import type { MadeAttempts, RawDelivery } from '../../ledger/rules/queries/delivery-rows.ts';
import { type Cursor, inEachOrder } from '../../ledger/rules/queries/keyset-page.ts';
import type { BatchAttempt } from '../../ledger/rules/queries/webhook-batch.ts';
import { statement } from '../database/statement.ts';
import { DELIVERY_ID, hasReason } from '../schema/delivery-sql.ts';

/** Conditions on how a delivery went. Their four parameters begin with the number `first`: the values of `resultValues`. */
const meets = (first: number) => {
  const [reason, status, since, until] = [0, 1, 2, 3].map((place) => `$${first + place}`);
  const matches = hasReason(reason ?? '');
  const lastStatus =
    '(SELECT a.http_status FROM _attempts a WHERE a.delivery_no = d.delivery_no ORDER BY a.attempt_no DESC LIMIT 1)';
  return `(${reason}::text IS NULL OR CASE WHEN ${status}::int IS NULL THEN ${matches}
      ELSE (d.reason IS NOT NULL OR d.state = 'delivered') AND coalesce(${lastStatus} = ${status}, ${matches}) END)
    AND (${since}::bigint IS NULL OR (d.state = 'delivered' AND d.settled_at >= ${since}))
    AND (${until}::bigint IS NULL OR (d.state = 'delivered' AND d.settled_at < ${until}))`;
};
const OF_SOURCE =
  '($2::text IS NULL OR $2 = (SELECT v.source FROM _versions v WHERE v.version_no = d.version_no))';

/** Returns what `select` reads of the deliveries of each sink in each of the states `$5`, by the index of the state and within a period. */
const inEachState = (select: (conditions: string) => string) =>
  Object.entries(STATE_CONDITIONS)
    .map(
      ([state, condition]) =>
        `SELECT n.* FROM _sinks s CROSS JOIN LATERAL (${select(
          `d.sink_no = s.sink_no AND ${condition} AND d.owed_at >= $3::bigint AND d.owed_at < $4::bigint`,
        )}) n WHERE ($1::text IS NULL OR s.sink = $1) AND '${state}' = ANY ($5::text[])`,
    )
    .join('\n   UNION ALL ');

const NEWEST_FIRST = 'ORDER BY d.owed_at DESC, d.delivery_no DESC';

/** The next deliveries, and whether they match the filter. Looks them up only after the list of all sinks and states is cut off. */
const LISTS = inEachOrder(
  ({ follows, sorted }) => `SELECT l.at, l.no, (${OF_SOURCE} AND ${meets(6)}) AS fits FROM (
   SELECT u.at, u.no FROM (${inEachState(
     (conditions) => `SELECT d.owed_at AS at, d.delivery_no AS no FROM _deliveries d WHERE ${conditions}
       AND (d.owed_at, d.delivery_no) ${follows} ($10::bigint, $11::bigint)
       ORDER BY d.owed_at ${sorted}, d.delivery_no ${sorted} LIMIT $12`,
   )}) u ORDER BY u.at ${sorted}, u.no ${sorted} LIMIT $12) l
   CROSS JOIN LATERAL (SELECT * FROM _deliveries y WHERE y.delivery_no = l.no OFFSET 0) d ORDER BY l.at ${sorted}, l.no ${sorted}`,
);

/** A position in the list of deliveries, and whether its delivery matches the filter. */
export type ListedDelivery = Cursor & { readonly fits: boolean };

/** The statements that list deliveries of all leads, by order. */
export const LISTED = {
  newest: statement<ListedDelivery>('listed-newest', LISTS.newest),
  oldest: statement<ListedDelivery>('listed-oldest', LISTS.oldest),
};

/** The number of deliveries of all leads that match a filter, up to a maximum. */
export const COUNT_LISTED = statement<{ deliveries: number }>(
  'count-listed',
  `SELECT count(*) AS deliveries FROM (SELECT 1 FROM (${inEachState(
    (conditions) =>
      `SELECT 1 FROM _deliveries d WHERE ${conditions} AND ${OF_SOURCE} AND ${meets(6)} LIMIT $10`,
  )}) u LIMIT $10) c`,
);

/** The deliveries of one lead, or the one delivery with an id. */
export const OF_LEAD = statement<Cursor>(
  'deliveries-of-lead',
  `SELECT d.owed_at AS at, d.delivery_no AS no FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no
   JOIN _sinks s ON s.sink_no = d.sink_no
   WHERE v.source IN (SELECT o.source FROM _sources o WHERE $1::text IS NULL OR o.source = $1) AND v.id = $2::bigint
   AND ($3::text IS NULL OR s.sink = $3) AND ($4::text IS NULL OR (coalesce(s.named, s.sink) = $4 AND v.version = $5::int
     AND substr(v.hash, 1, 8) = $6 AND d.replay = $7::bigint AND d.reissued BETWEEN $8::int AND $19::int))
   AND d.owed_at >= $9::bigint AND d.owed_at < $10::bigint
   AND ($11::text[] IS NULL OR d.state = ANY ($11) OR (d.state = 'skipped' AND d.discarded = 1 AND 'discarded' = ANY ($11)))
   AND ${meets(12)} AND (d.owed_at, d.delivery_no) < ($16::bigint, $17::bigint) ${NEWEST_FIRST} LIMIT $18`,
);

/** The last attempts, those of a sink or of all. */
export const SENT = statement<BatchAttempt>(
  'sent-last',
  `SELECT a.batch_no AS batch, a.started_at AS "startedAt", d.delivery_no AS no, ${DELIVERY_ID} AS delivery
   FROM (SELECT * FROM _attempts ORDER BY attempt_no DESC LIMIT $2) a
   CROSS JOIN LATERAL (SELECT * FROM _deliveries y WHERE y.delivery_no = a.delivery_no OFFSET 0) d
   JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no WHERE $1::text IS NULL OR s.sink = $1`,
);

/** Deliveries by number, newest first. */
export const DELIVERIES = statement<RawDelivery & MadeAttempts>(
  'deliveries-by-number',
  `SELECT d.delivery_no, ${DELIVERY_ID} AS delivery, v.source, v.id::text AS id, v.version, d.event, s.sink, d.state, d.reason, d.attempts,
     d.replay, d.owed_at, d.next_attempt_at, d.batch_no, d.settled_at, d.discarded, d.ref, coalesce(m.made, 0) AS made, coalesce(m.answered, 0) AS answered,
     m.last_status, m.last_ms
   FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no
   LEFT JOIN LATERAL (SELECT sum(a.times)::bigint AS made, max((a.answer <> '')::int) AS answered,
     (array_agg(a.http_status ORDER BY a.attempt_no DESC))[1] AS last_status, (array_agg(a.duration_ms ORDER BY a.attempt_no DESC))[1] AS last_ms
     FROM _attempts a WHERE a.delivery_no = d.delivery_no) m ON true
   WHERE d.delivery_no = ANY ($1::bigint[]) ${NEWEST_FIRST}`,
);

/** The number of a sink's deliveries that are due and in no batch, up to a maximum. */
export const COUNT_DUE = statement<{ due: number }>(
  'count-due',
  `SELECT count(*) AS due FROM (SELECT 1 FROM _deliveries WHERE sink_no = (SELECT sink_no FROM _sinks WHERE sink = $1)
   AND state = 'pending' AND batch_no IS NULL AND next_attempt_at <= $2 ORDER BY next_attempt_at, delivery_no LIMIT $3) n`,
);
