import type Database from 'better-sqlite3';
import { SinkRows } from '../database/sink-rows.ts';
import { NewestContent } from '../delivering/superseding.ts';
import { ERASED } from '../rules/delivering/delivery-id.ts';
import { SETTLED } from './repair-deliveries.ts';

/** A lead whose current version has no delivery to a sink, although the version was owed to that sink. */
interface Missing {
  readonly version_no: number;
  readonly source: string;
  readonly id: string;
  /** Whether the sink has a delivery of an older version of the lead. */
  readonly has_older: 0 | 1;
}

interface SinkParameters {
  readonly sink: number;
  readonly through: number;
  readonly active: 0 | 1;
  readonly after: number;
  /** Whether the sink is owed leads that were listed before it was configured. */
  readonly backfill: 0 | 1;
}

/**
 * Records leads as owed to a sink again if the sink was owed them and their deliveries were lost. These leads may already have arrived, so
 * each delivery gets the same id as before. Runs inside its caller's transaction.
 * @param updates whether to also record the current version of a lead as owed if the sink has deliveries only of older versions
 * @returns the number of deliveries
 */
export function oweAgain(db: Database.Database, now: number, updates: boolean): number {
  const rows = new SinkRows(db);
  const newest = new NewestContent(db, rows);
  const missing = db.prepare<[SinkParameters], Missing>(MISSING);
  const skipWithoutContent =
    db.prepare<[SinkParameters & { now: number; erased: string; settled: string }]>(SKIP_WITHOUT_CONTENT);
  const unsure = db.prepare<[number, number]>(
    'UPDATE _deliveries AS d SET unsure_at = ?, mapping_no = (SELECT k.mapping_no FROM _sinks k WHERE k.sink_no = d.sink_no) WHERE delivery_no = ?',
  );
  let owed = 0;
  for (const sink of rows.all()) {
    const { sinkNo, owedThrough, backfillTo, events } = sink;
    const parameters: SinkParameters = {
      sink: sinkNo,
      through: owedThrough,
      active: sink.active ? 1 : 0,
      after: backfillTo,
      backfill: sink.backfill ? 1 : 0,
    };
    skipWithoutContent.run({ ...parameters, now, erased: ERASED, settled: SETTLED });
    for (const { version_no: versionNo, source, id, has_older } of missing.all(parameters)) {
      const version = { versionNo, source, id: BigInt(id) };
      if (has_older === 1 && !updates) continue;
      const delivery =
        has_older === 1 || !events.includes('created')
          ? newest.oweNewest(sink, version, now)
          : newest.oweBehind(sink, version, { event: 'created', replay: 0 }, now);
      if (delivery === undefined) continue;
      unsure.run(now, delivery);
      owed += 1;
    }
  }
  rows.flush();
  return owed;
}

/** Whether the lead `l` was listed while the sink was configured, or the sink's backfill had reached it. */
const COVERED = '(l.version_no <= :through OR (:active AND l.version_no > :after))';

/** Whether the current version `v` of the lead `l` has no text, for a reason other than damage. */
const EMPTIED = `(v.raw = json_object('id', v.id) AND v.version_no NOT IN (SELECT version_no FROM lost_texts))`;

const WITHOUT_DELIVERY =
  'NOT EXISTS (SELECT 1 FROM _deliveries d WHERE d.version_no = l.version_no AND d.sink_no = :sink)';

/**
 * Selects the leads whose deliveries are missing. A backfill passes over leads without text, so this includes leads that lost their text,
 * whether or not the backfill has reached them.
 */
const MISSING = `
  SELECT l.version_no, l.source, CAST(l.id AS TEXT) AS id, EXISTS (SELECT 1 FROM _versions w CROSS JOIN _deliveries d ON d.version_no = w.version_no
    WHERE w.source = l.source AND w.id = l.id AND d.sink_no = :sink AND d.event <> 'erased') AS has_older
  FROM _leads l JOIN _versions v ON v.version_no = l.version_no
  WHERE l.erased_no IS NULL AND NOT ${EMPTIED} AND ${WITHOUT_DELIVERY}
    AND (${COVERED} OR (:active AND :backfill AND v.version_no IN (SELECT version_no FROM lost_texts)))
  ORDER BY l.version_no`;

/** Whether the sink has no delivery of the lead `l`. */
const UNKNOWN_TO_SINK = `NOT EXISTS (SELECT 1 FROM _versions w CROSS JOIN _deliveries d ON d.version_no = w.version_no
  WHERE w.source = l.source AND w.id = l.id AND d.sink_no = s.sink_no)`;

/** Skips leads that were erased, or whose content `retention` removed after they were settled. */
const SKIP_WITHOUT_CONTENT = `
  INSERT INTO _deliveries (version_no, sink_no, event, state, reason, owed_at, first_attempt_at, settled_at)
  SELECT l.version_no, s.sink_no, iif(v.version = 1 OR NOT instr(s.events, 'updated'), 'created', 'updated'), 'skipped',
    iif(l.erased_no IS NULL, :settled, :erased), v.first_seen_at, v.first_seen_at, :now
  FROM _leads l JOIN _versions v ON v.version_no = l.version_no JOIN _sinks s ON s.sink_no = :sink
  WHERE (l.erased_no IS NOT NULL OR ${EMPTIED}) AND ${WITHOUT_DELIVERY} AND ${COVERED}
    AND (instr(s.events, iif(v.version = 1, 'created', 'updated')) OR instr(s.events, 'created') AND ${UNKNOWN_TO_SINK})`;
