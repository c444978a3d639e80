import { planBackfill } from '../../ledger/rules/delivering/superseding.ts';
import { findSink } from '../database/sinks.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { NewestContent } from '../delivering/superseding.ts';
import { HAS_CONTENT } from '../schema/delivery-sql.ts';

/** Maximum numbers of leads that a step records as owed or skipped, and of version numbers among which it looks for them. */
const MAX_LEADS_PER_STEP = 300;
const MAX_VERSIONS_PER_STEP = 3_000;

/** Handles one chunk of the leads that were listed while a sink was not declared: records them as owed to the sink, or as skipped. */
export async function backfill(
  tx: Transaction,
  name: string,
): Promise<{ owed: number; skipped: number; done: boolean }> {
  const sink = await findSink(tx, name);
  if (!sink || sink.owedThrough >= sink.backfillTo) return { owed: 0, skipped: 0, done: true };
  const { sinkNo, owedThrough, backfillTo } = sink;
  const to = Math.min(owedThrough + MAX_VERSIONS_PER_STEP, backfillTo);
  const versions = await tx.rows(BETWEEN, [owedThrough, to, backfillTo, MAX_LEADS_PER_STEP]);
  // A lead that changed again after the sink was declared has several versions in the range.
  const distinct = [...new Map(versions.map((row) => [row.current_no, row])).values()];
  const leads = distinct.map(({ current_no, source, id, has_content }) => ({
    versionNo: current_no,
    source,
    id: BigInt(id),
    hasContent: has_content,
  }));
  const content = await NewestContent.of(tx, leads, [sink]);
  const { deliveries } = content;
  const skipped = [];
  for (const lead of leads) {
    const { source, id } = lead;
    const last = deliveries.last(sinkNo, source, id);
    const plan = planBackfill(sink, last, () => deliveries.maybeArrived(sinkNo, source, id), lead.hasContent);
    if (plan?.kind === 'newest') content.oweNewest(sink, lead);
    else if (plan?.kind === 'owe') content.oweBehind(sink, lead, { event: plan.event, replay: 0 });
    else if (plan) skipped.push({ ...plan, versionNo: lead.versionNo });
  }
  const owed = (await content.write(tx)).length;
  const left =
    skipped.length === 0
      ? 0
      : await tx.run(SKIP_OLD, [
          sinkNo,
          tx.now,
          skipped.map(({ versionNo }) => versionNo),
          texts(skipped.map(({ event }) => event)),
          texts(skipped.map(({ reason }) => reason)),
        ]);
  tx.count(sinkNo, 'skipped', left);
  const through = versions.length < MAX_LEADS_PER_STEP ? to : (versions.at(-1)?.version_no ?? to);
  await tx.run(PROGRESS, [sinkNo, through]);
  return { owed, skipped: left, done: through >= backfillTo };
}

// The current version of each lead: the version in this range, or a newer version that was recorded after the sink was declared.
const BETWEEN = statement<{
  version_no: number;
  current_no: number;
  source: string;
  id: string;
  has_content: boolean;
}>(
  'backfill-between',
  `SELECT v.version_no, l.version_no AS current_no, v.source, v.id::text AS id, ${HAS_CONTENT} AS has_content FROM _versions v
   JOIN _leads l ON l.source = v.source AND l.id = v.id
   WHERE v.version_no > $1 AND v.version_no <= $2 AND (l.version_no = v.version_no OR l.version_no > $3) AND l.erased_no IS NULL
   ORDER BY v.version_no LIMIT $4`,
);

const SKIP_OLD = statement(
  'skip-old',
  `INSERT INTO _deliveries (version_no, sink_no, event, state, reason, owed_at, settled_at)
   SELECT g.version_no, $1, g.event, 'skipped', g.reason, $2, $2
   FROM unnest($3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY AS g (version_no, event, reason, position)
   ORDER BY g.position ON CONFLICT DO NOTHING`,
);

const PROGRESS = statement('backfill-progress', 'UPDATE _sinks SET owed_through = $2 WHERE sink_no = $1');
