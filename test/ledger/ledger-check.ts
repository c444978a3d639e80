import Database from 'better-sqlite3';
import { brokenRules, violationsOf } from '../../src/ledger/database/ledger-rules.ts';

/** Checks what must hold in a ledger's file whatever happened to its process. Returns one sentence per fault. */
export function faultsOf(file: string): string[] {
  const db = new Database(file);
  try {
    return [...violationsOf(db, 'what was delivered has its attempt', UNATTEMPTED), ...brokenRules(db)];
  } finally {
    db.close();
  }
}

/** Holds while nothing is older than the retention of attempts and damage has removed none. */
const UNATTEMPTED = `
  SELECT 1 FROM _deliveries d WHERE state = 'delivered'
    AND NOT EXISTS (SELECT 1 FROM _attempts a WHERE a.delivery_no = d.delivery_no AND a.outcome = 'delivered')`;
