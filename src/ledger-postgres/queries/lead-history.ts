import type { LeadId } from '../../leads/lead.ts';
import type {
  LeadContent,
  LeadHistory,
  StoredAnswer,
  StoredAttempt,
  StoredVersion,
} from '../../ledger/contract/page-rows.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { deliveriesOfLead } from './delivery-list.ts';
import { leadRows } from './lead-rows.ts';

/** Maximum number of versions returned for a lead; the newest are returned. Hardly any lead has more. */
const MAX_VERSIONS = 1_000;
/** Maximum number of attempts returned for a delivery; the newest are returned. Hardly any delivery has more. */
const MAX_ATTEMPTS = 100;
/** Maximum number of answers from destinations returned for a lead; the newest are returned. An answer may be a few kilobytes long. */
const MAX_ANSWERS = 20;

/** Returns the history of a lead; undefined if the ledger does not have the lead. */
export async function leadHistory(
  tx: Transaction,
  source: string,
  lead: LeadId,
): Promise<LeadHistory | undefined> {
  const [row] = await leadRows(tx, [{ source, id: String(lead) }]);
  if (!row) return undefined;
  const versions = await tx.rows(VERSIONS, [source, lead, MAX_VERSIONS]);
  const deliveries = await deliveriesOfLead(tx, source, lead);
  const attempts = await tx.rows(ATTEMPTS, [deliveries.map(({ no }) => no), MAX_ATTEMPTS]);
  const byDelivery = Map.groupBy(attempts, ({ no }) => no);
  return {
    lead: row,
    versions: versions.map(withFields),
    deliveries: deliveries.map(({ no, delivery }) => ({
      ...delivery,
      attemptRows: (byDelivery.get(no) ?? []).map(({ no: _, ...attempt }) => attempt),
    })),
  };
}

/** Returns the content of a lead, or of one of its versions, and the destinations' answers to it, as `LedgerPages.content` describes. */
export async function leadContent(
  tx: Transaction,
  source: string,
  lead: LeadId,
  { version, delivery }: { readonly version: number | undefined; readonly delivery: string | undefined },
): Promise<LeadContent | undefined> {
  const content = await tx.first(CONTENT, [source, lead, version ?? null]);
  if (!content) return undefined;
  const meant = (await deliveriesOfLead(tx, source, lead)).filter(
    ({ delivery: one }) =>
      (version === undefined || one.version === version) &&
      (delivery === undefined || one.delivery === delivery),
  );
  const named = new Map(meant.map((one) => [one.no, one.delivery]));
  const answers = await tx.rows(ANSWERS, [[...named.keys()], MAX_ANSWERS]);
  return {
    ...withFields(content),
    answers: answers.map(({ no, ...answer }) => {
      const { delivery: id = '', sink = '' } = named.get(no) ?? {};
      return { delivery: id, sink, ...answer };
    }),
  };
}

interface RawVersion extends Omit<StoredVersion, 'changedFields'> {
  readonly changedFields: string | null;
}

function withFields<Row extends RawVersion>({ changedFields, ...row }: Row) {
  return { ...row, changedFields: changedFields === null ? null : JSON.parse(changedFields) };
}

const VERSION =
  'v.version, v.valid_from AS "validFrom", v.poll_id AS poll, v.changed_fields AS "changedFields"';
const VERSIONS = statement<RawVersion>(
  'versions-of-one',
  `SELECT ${VERSION} FROM _versions v WHERE v.source = $1 AND v.id = $2 ORDER BY v.version DESC LIMIT $3`,
);
const CONTENT = statement<RawVersion & Pick<LeadContent, 'raw' | 'rawBefore'>>(
  'content-of-version',
  `SELECT ${VERSION}, v.raw, b.raw AS "rawBefore" FROM _leads l
   JOIN _versions v ON v.source = l.source AND v.id = l.id AND v.version = coalesce($3::int, l.version)
   LEFT JOIN _versions b ON b.source = v.source AND b.id = v.id AND b.version = v.version - 1
   WHERE l.source = $1 AND l.id = $2`,
);
const ANSWERS = statement<Omit<StoredAnswer, 'delivery' | 'sink'> & { readonly no: number }>(
  'answers-to-deliveries',
  `SELECT a.delivery_no AS no, a.started_at AS "startedAt", a.outcome, a.http_status AS "httpStatus", a.answer
   FROM unnest($1::bigint[]) AS d (no) CROSS JOIN LATERAL (SELECT * FROM _attempts y WHERE y.delivery_no = d.no AND y.answer <> ''
     ORDER BY y.attempt_no DESC LIMIT $2) a ORDER BY a.started_at DESC, a.attempt_no DESC LIMIT $2`,
);
const ATTEMPTS = statement<StoredAttempt & { readonly no: number }>(
  'attempts-of-deliveries',
  `SELECT a.delivery_no AS no, a.started_at AS "startedAt", a.duration_ms AS "durationMs", a.outcome, a.http_status AS "httpStatus", a.error, a.times,
   a.last_at AS "lastAt" FROM unnest($1::bigint[]) AS d (no) CROSS JOIN LATERAL (SELECT * FROM _attempts y WHERE y.delivery_no = d.no
     ORDER BY y.attempt_no DESC LIMIT $2) a ORDER BY a.attempt_no`,
);
