import Database from 'better-sqlite3';

/** What must hold of a ledger's file whatever happened to its process; gives a sentence for each thing that does not. */
export function faultsOf(file: string): string[] {
  const db = new Database(file);
  try {
    const count = (sql: string) => Number(db.prepare(`SELECT count(*) FROM (${sql})`).pluck().get());
    const faults = Object.entries(RULES).flatMap(([rule, sql]) => {
      const broken = count(sql);
      return broken === 0 ? [] : [`${rule}: ${broken} times not`];
    });
    const integrity = db.pragma('integrity_check', { simple: true });
    if (integrity !== 'ok') faults.push(`integrity: ${String(integrity)}`);
    return [...faults, ...(db.pragma('foreign_key_check') as unknown[]).map((row) => JSON.stringify(row))];
  } finally {
    db.close();
  }
}

/** Each query finds what breaks the rule. */
const RULES = {
  'every version that was seen, or a newer one of its lead, is owed to, or skipped by, every sink that asks for it': `
    SELECT 1 FROM _versions v JOIN _sinks s ON s.active AND v.version_no > s.backfill_to
      AND instr(s.events, iif(v.version = 1, 'created', 'updated'))
    WHERE NOT EXISTS (SELECT 1 FROM _versions w JOIN _deliveries d ON d.version_no = w.version_no AND d.sink_no = s.sink_no
      WHERE w.source = v.source AND w.id = v.id AND w.version >= v.version)`,
  'every version belongs to a lead, and a lead’s newest is its current one': `
    SELECT 1 FROM _versions v LEFT JOIN _leads l ON l.source = v.source AND l.id = v.id
    WHERE l.id IS NULL OR v.version > l.version OR (v.version = l.version AND v.version_no <> l.version_no)`,
  'what is in a batch is pending, and its batch is there': `
    SELECT 1 FROM _deliveries d LEFT JOIN _batches b ON b.batch_no = d.batch_no
    WHERE d.batch_no IS NOT NULL AND (b.batch_no IS NULL OR d.state <> 'pending')`,
  'every batch holds something': `
    SELECT 1 FROM _batches b WHERE NOT EXISTS (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no)`,
  'what was delivered has its attempt': `
    SELECT 1 FROM _deliveries d WHERE state = 'delivered'
      AND NOT EXISTS (SELECT 1 FROM _attempts a WHERE a.delivery_no = d.delivery_no AND a.outcome = 'delivered')`,
  'each sink’s counts are what can be counted': `
    SELECT 1 FROM _sinks s WHERE pending <> (SELECT count(*) FROM _deliveries d WHERE d.sink_no = s.sink_no AND state = 'pending')
      OR delivered <> (SELECT count(*) FROM _deliveries d WHERE d.sink_no = s.sink_no AND state = 'delivered')
      OR dead <> (SELECT count(*) FROM _deliveries d WHERE d.sink_no = s.sink_no AND state = 'dead')
      OR skipped <> (SELECT count(*) FROM _deliveries d WHERE d.sink_no = s.sink_no AND state = 'skipped')`,
  'each source’s counts are what can be counted': `
    SELECT 1 FROM _sources o WHERE leads <> (SELECT count(*) FROM _leads l WHERE l.source = o.source)
      OR current <> (SELECT count(*) FROM _leads l WHERE l.source = o.source AND l.last_listed_at IS NULL)`,
};
