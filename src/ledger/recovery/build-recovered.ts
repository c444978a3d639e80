import { closeSync, fsyncSync, openSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { DeliveryState } from '../../leads/delivery.ts';
import { LedgerError, toLedgerError } from '../contract/ledger-error.ts';
import { brokenRules } from '../database/consistency-rules.ts';
import { connect } from '../database/ledger-file.ts';
import { removeLedger } from '../database/leftover-files.ts';
import { applyMigrations, recognise, schemaNumber } from '../schema/upgrading.ts';
import { type CopiedTable, copyTables, type OnCopied } from './copy-tables.ts';
import { DamagedFile, isDamage } from './damaged-file.ts';
import { copyIndexEntries } from './index-entries.ts';
import { oweAgain } from './owe-again.ts';
import { failLostTexts, repairDeliveries } from './repair-deliveries.ts';
import { repairLeads } from './repair-leads.ts';
import { restoreCounters } from './restore-counters.ts';

/** A summary of a recovered ledger: what it contains and what it lacks. Contains no personal data. */
export interface Recovered {
  readonly tables: readonly CopiedTable[];
  readonly leads: number;
  /** Leads whose text was lost. They have no text until a source lists them again. */
  readonly leadsWithoutText: number;
  readonly erased: number;
  readonly deliveries: Readonly<Record<DeliveryState, number>>;
  /** Deliveries whose rows were lost, restored from indexes and attempts. */
  readonly deliveriesRestored: number;
  /** Lost deliveries that are owed again. Their leads may arrive for a second time. */
  readonly deliveriesRepeated: number;
  /** Dead deliveries that become pending when the source lists their lead again with the lost text. */
  readonly deliveriesWaiting: number;
  readonly sinks: number;
  /** Names of the sinks for which only the name could be restored. */
  readonly sinksRestored: readonly string[];
  /** Whether nothing is missing. */
  readonly whole: boolean;
}

/**
 * Builds a new ledger from the readable parts of a damaged ledger, which it does not change. When it returns, the new ledger is on disk. If
 * it fails, removes the new ledger. `connectTo` opens the new ledger.
 * @throws LedgerError
 */
export function buildRecovered(
  file: string,
  target: string,
  now: number,
  connectTo: (target: string) => Database.Database = connect,
  onCopied: OnCopied = () => undefined,
): Recovered {
  const from = openDamaged(file);
  try {
    removeLedger(target);
    const to = connectTo(target);
    try {
      const recovered = fill(from, to, now, onCopied);
      to.close();
      syncFile(target);
      return recovered;
    } catch (error) {
      to.close();
      removeLedger(target);
      throw explained(error, target);
    }
  } finally {
    from.close();
  }
}

/** Writes a file's data to the disk, so that it survives a power failure. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function openDamaged(file: string): DamagedFile {
  let from: DamagedFile | undefined;
  try {
    from = new DamagedFile(file);
    recognise(from.connection);
    if (from.has('_versions')) return from;
  } catch (error) {
    from?.close();
    if (!isDamage(error)) throw toLedgerError(error, file);
    throw nothingLeft(file, error);
  }
  from.close();
  throw nothingLeft(file);
}

function nothingLeft(file: string, cause?: unknown): LedgerError {
  return new LedgerError(
    'damaged',
    `Nothing can be recovered from the ledger ${file}: its first pages, which locate all other pages, cannot be read.`,
    'Restore it from a backup, after removing its -wal and -shm files. Without a backup, move all three files away: `leadsync ledger accept` then creates a new ledger, and leadsync delivers every listed lead again.',
    cause,
  );
}

function fill(from: DamagedFile, to: Database.Database, now: number, onCopied: OnCopied): Recovered {
  to.pragma('journal_mode = MEMORY');
  to.pragma('synchronous = OFF'); // the whole file is synced at the end
  to.pragma('foreign_keys = OFF'); // they are checked at the end
  to.pragma('temp_store = MEMORY');
  applyMigrations(to, schemaNumber(from.connection));
  const [tables, complete] = to.transaction(
    () => [copyTables(from, to, onCopied), copyIndexEntries(from, to)] as const,
  )();
  applyMigrations(to);
  const counts = to.transaction(() => {
    const leadsWithoutText = repairLeads(to, now);
    const repairs = repairDeliveries(to, tables, complete, now);
    failLostTexts(to, now);
    const deliveriesRepeated = oweAgain(to, now, repairs.incomplete || leadsWithoutText > 0);
    failLostTexts(to, now);
    const isWhole = (table: string) => tables.find((one) => one.table === table)?.whole ?? true;
    restoreCounters(to, now, isWhole('_client_keys') && isWhole('_ledger'));
    return { leadsWithoutText, deliveriesRepeated, repairs };
  })();
  const faults = brokenRules(to);
  if (faults.length > 0)
    throw new LedgerError(
      'unexpected',
      `The recovered ledger contradicts itself (${faults.join('; ')}). It was not used.`,
      'This is a fault in leadsync: please report it. Restore the ledger from a backup.',
    );
  return report(to, tables, counts);
}

function report(
  to: Database.Database,
  tables: readonly CopiedTable[],
  {
    leadsWithoutText,
    deliveriesRepeated,
    repairs,
  }: { leadsWithoutText: number; deliveriesRepeated: number; repairs: ReturnType<typeof repairDeliveries> },
): Recovered {
  const count = (what: string) => Number(to.prepare(`SELECT count(*) FROM ${what}`).pluck().get());
  const inState = (state: DeliveryState) => count(`_deliveries WHERE state = '${state}'`);
  return {
    tables,
    leads: count('_leads'),
    leadsWithoutText,
    erased: count('_erased'),
    deliveries: {
      pending: inState('pending'),
      delivered: inState('delivered'),
      dead: inState('dead'),
      skipped: inState('skipped'),
    },
    deliveriesRestored: repairs.restored,
    deliveriesRepeated,
    deliveriesWaiting: count(
      "_deliveries WHERE state = 'dead' AND version_no IN (SELECT version_no FROM lost_texts)",
    ),
    sinks: count('_sinks'),
    sinksRestored: repairs.sinks,
    whole: tables.every(({ whole }) => whole) && leadsWithoutText + repairs.restored === 0,
  };
}

function explained(error: unknown, target: string): unknown {
  if (!String((error as { code?: unknown }).code ?? '').startsWith('SQLITE')) return error;
  const ledger = toLedgerError(error, target);
  if (ledger.code !== 'full') return ledger;
  return new LedgerError(
    'full',
    `The disk has no space left for the recovered ledger ${target}. Nothing was changed.`,
    'The recovered ledger needs as much space as the damaged one. Free that much space, then run the command again.',
    error,
  );
}
