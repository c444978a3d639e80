import Database from 'better-sqlite3';
import { brokenRules, violationsOf } from '../../src/ledger/database/consistency-rules.ts';

/** Checks what must hold in a ledger's file whatever happened to its process. Returns one sentence per fault. */
export function faultsOf(file: string): string[] {
  const db = new Database(file);
  try {
    return [
      ...violationsOf(db, 'what was delivered has its attempt', UNATTEMPTED),
      ...violationsOf(
        db,
        'every lead is owed to, or skipped for, every sink that subscribes to `created`',
        UNOWED,
      ),
      ...brokenRules(db),
    ];
  } finally {
    db.close();
  }
}

/** Holds while nothing is older than the retention of attempts and damage has removed none. */
const UNATTEMPTED = `
  SELECT 1 FROM _deliveries d WHERE state = 'delivered'
    AND NOT EXISTS (SELECT 1 FROM _attempts a WHERE a.delivery_no = d.delivery_no AND a.outcome = 'delivered')`;

/** Holds while no sink subscribes to `created` later than it was added. */
const UNOWED = `
  SELECT 1 FROM _leads l JOIN _sinks s ON s.active AND s.owed_through >= s.backfill_to AND instr(s.events, 'created')
  WHERE l.erased_no IS NULL AND NOT EXISTS (
    SELECT 1 FROM _versions v JOIN _deliveries d ON d.version_no = v.version_no AND d.sink_no = s.sink_no
    WHERE v.source = l.source AND v.id = l.id)`;
