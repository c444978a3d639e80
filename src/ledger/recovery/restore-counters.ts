import type Database from 'better-sqlite3';

/**
 * Computes the stored counts again, and sets the sequences so that no number is reused. Removes the listing markers, so that the next poll
 * of each source reads the whole listing.
 */
export function restoreCounters(db: Database.Database, now: number, keysAreWhole: boolean): void {
  db.exec(COUNTS);
  db.prepare<[{ now: number; whole: 0 | 1 }]>(LEDGER).run({ now, whole: keysAreWhole ? 1 : 0 });
  const next = db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)');
  const lastUsed = db
    .prepare<[string], number>("SELECT seq FROM indexed_numbers WHERE name = ? AND typeof(seq) = 'integer'")
    .pluck();
  for (const [table, used] of NUMBERS) {
    const last = db.prepare<[], number>(`SELECT max(n) FROM (${used})`).pluck().get() ?? 0;
    db.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table);
    next.run(table, Math.max(last, lastUsed.get(table) ?? 0));
  }
}

const count = (state: string) =>
  `${state} = (SELECT count(*) FROM _deliveries d WHERE d.sink_no = _sinks.sink_no AND d.state = '${state}')`;

const COUNTS = `
  UPDATE _sinks SET ${['pending', 'delivered', 'dead', 'skipped'].map(count).join(', ')};
  UPDATE _sources SET mark = NULL,
    leads = (SELECT count(*) FROM _leads l WHERE l.source = _sources.source),
    current = (SELECT count(*) FROM _leads l WHERE l.source = _sources.source AND l.last_listed_at IS NULL);
`;

/** Without a file identity, the ledger does not count as a copy and keeps its id. */
const LEDGER = `UPDATE _ledger SET file = NULL, clock_at = min(clock_at, :now),
  keyed_through = iif(:whole, min(keyed_through, (SELECT coalesce(max(version_no), 0) FROM _versions)), 0)`;

/** For each table, the query for the numbers in use: in the table itself, and in rows that refer to it. */
const NUMBERS: readonly (readonly [string, string])[] = [
  ['_batches', 'SELECT max(batch_no) AS n FROM _batches UNION SELECT max(batch_no) FROM _attempts'],
  [
    'polls',
    'SELECT max(poll_id) AS n FROM polls UNION SELECT max(poll_id) FROM _versions UNION SELECT max(last_poll_id) FROM rejected_leads UNION SELECT max(complete_poll) FROM _sources',
  ],
  [
    '_mappings',
    'SELECT max(mapping_no) AS n FROM _mappings UNION SELECT max(mapping_no) FROM _sinks UNION SELECT max(mapping_no) FROM _batches UNION SELECT max(mapping_no) FROM _deliveries',
  ],
  ['_client_keys', 'SELECT max(key_no) AS n FROM _client_keys'],
  ['_presence', 'SELECT max(presence_no) AS n FROM _presence'],
];
