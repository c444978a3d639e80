import Database from 'better-sqlite3';
import { brokenRules, violationsOf } from '../../src/ledger/database/ledger-rules.ts';

/** What must hold of a ledger's file whatever happened to its process; gives a sentence for each thing that does not. */
export function faultsOf(file: string): string[] {
  const db = new Database(file);
  try {
    return [...violationsOf(db, 'what was delivered has its attempt', UNATTEMPTED), ...brokenRules(db)];
  } finally {
    db.close();
  }
}

/** Holds as long as nothing is older than `retention` keeps attempts, and none was lost to damage. */
const UNATTEMPTED = `
  SELECT 1 FROM _deliveries d WHERE state = 'delivered'
    AND NOT EXISTS (SELECT 1 FROM _attempts a WHERE a.delivery_no = d.delivery_no AND a.outcome = 'delivered')`;
