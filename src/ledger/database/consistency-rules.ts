import type Database from 'better-sqlite3';

/**
 * Returns a sentence for each invariant that the ledger violates. A ledger satisfies all invariants, even if its process was killed at any
 * moment.
 */
export function brokenRules(db: Database.Database): string[] {
  const faults = [...violationsOf(db, EVERY_VERSION_IS_OWED, UNOWED), ...contradictions(db)];
  const integrity = db.pragma('integrity_check', { simple: true });
  if (integrity !== 'ok') faults.push(`integrity: ${String(integrity)}`);
  return [...faults, ...(db.pragma('foreign_key_check') as unknown[]).map((row) => JSON.stringify(row))];
}

/**
 * Returns a sentence for each invariant between tables that the ledger violates: rows lack their counterparts in another table, or a stored
 * count differs from the number of rows. SQLite finds no damage in such a file. This happens, for example, if the write-ahead log of one
 * ledger is applied to another.
 */
export function contradictions(db: Database.Database): string[] {
  return Object.entries(CONSISTENCY).flatMap(([rule, sql]) => violationsOf(db, rule, sql));
}

/** Returns one sentence if the query finds rows that violate the invariant `rule`, and otherwise an empty array. */
export function violationsOf(db: Database.Database, rule: string, sql: string): string[] {
  const broken = Number(db.prepare(`SELECT count(*) FROM (${sql})`).pluck().get());
  if (broken === 0) return [];
  return [`${broken} ${broken === 1 ? 'row violates' : 'rows violate'} the rule that ${rule}`];
}

const EVERY_VERSION_IS_OWED =
  'every version, or a newer version of the same lead, has a delivery to each sink that subscribes to its event';
const UNOWED = `
  SELECT 1 FROM _versions v JOIN _sinks s ON s.active AND v.version_no > s.backfill_to
    AND instr(s.events, iif(v.version = 1, 'created', 'updated'))
  WHERE NOT EXISTS (SELECT 1 FROM _versions w JOIN _deliveries d ON d.version_no = w.version_no AND d.sink_no = s.sink_no
    WHERE w.source = v.source AND w.id = v.id AND w.version >= v.version)`;

/** The invariants between tables. Each query finds the rows that violate one invariant. */
const CONSISTENCY: Readonly<Record<string, string>> = {
  'every version belongs to a lead, and a lead’s newest version is its current version': `
    SELECT 1 FROM _versions v LEFT JOIN _leads l ON l.source = v.source AND l.id = v.id
    WHERE l.id IS NULL OR v.version > l.version OR (v.version = l.version AND v.version_no <> l.version_no)`,
  'every delivery in a batch is pending, and its batch exists': `
    SELECT 1 FROM _deliveries d LEFT JOIN _batches b ON b.batch_no = d.batch_no
    WHERE d.batch_no IS NOT NULL AND (b.batch_no IS NULL OR d.state <> 'pending')`,
  'every batch has a delivery': `
    SELECT 1 FROM _batches b WHERE NOT EXISTS (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no)`,
  'each sink’s counts are those of its deliveries': `
    SELECT sink_no FROM (
      SELECT sink_no, pending, delivered, dead, skipped FROM _sinks
      UNION ALL
      SELECT sink_no, -(state = 'pending'), -(state = 'delivered'), -(state = 'dead'), -(state = 'skipped') FROM _deliveries)
    GROUP BY sink_no HAVING sum(pending) <> 0 OR sum(delivered) <> 0 OR sum(dead) <> 0 OR sum(skipped) <> 0`,
  'each source’s counts are those of its leads': `
    SELECT 1 FROM _sources o WHERE leads <> (SELECT count(*) FROM _leads l WHERE l.source = o.source)
      OR current <> (SELECT count(*) FROM _leads l WHERE l.source = o.source AND l.last_listed_at IS NULL)`,
};
