import { closeSync, fsyncSync, openSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { DeliveryState } from '../../leads/delivery.ts';
import { LedgerError, toLedgerError } from '../contract/ledger-error.ts';
import { connect } from '../database/ledger-file.ts';
import { brokenRules } from '../database/ledger-rules.ts';
import { removeLedger } from '../database/leftovers.ts';
import { applyMigrations, recognise, schemaNumber } from '../database/upgrading.ts';
import { type CopiedTable, copyTables, type OnCopied } from './copy-tables.ts';
import { DamagedFile, isDamage } from './damaged-file.ts';
import { copyIndexEntries } from './index-entries.ts';
import { oweAgain } from './owe-again.ts';
import { giveUpLostTexts, repairDeliveries } from './repair-deliveries.ts';
import { repairLeads } from './repair-leads.ts';
import { restoreCounters } from './restore-counters.ts';

/** What a recovered ledger holds, and what is missing in it. Names nobody. */
export interface Recovered {
  readonly tables: readonly CopiedTable[];
  readonly leads: number;
  /** Leads without their text, until a source lists them again. */
  readonly leadsWithoutText: number;
  readonly erased: number;
  readonly deliveries: Readonly<Record<DeliveryState, number>>;
  /** Deliveries that were told from indexes and attempts alone. */
  readonly deliveriesRestored: number;
  /** Deliveries of which nothing is known any more: they are made, perhaps for a second time. */
  readonly deliveriesRepeated: number;
  /** Deliveries that wait for the text of their lead. */
  readonly deliveriesWaiting: number;
  readonly sinks: number;
  /** Names of sinks of which only the name is left. */
  readonly sinksRestored: readonly string[];
  /** Whether anything is missing at all. */
  readonly whole: boolean;
}

/**
 * Makes a new ledger of what can be read of a damaged one, on disk when it returns. The damaged one is only read; of a new one that
 * could not be finished nothing is left. `connectTo` opens the new one.
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

/** Makes what was written to a file survive a power cut. */
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
    `Nothing can be recovered from the ledger ${file}: its first pages, which say where everything else is, cannot be read.`,
    'Restore it from a backup, after its -wal and -shm were removed as well. Without a backup, move all three away; `leadsync ledger accept` makes a new ledger, and every listed lead goes out again.',
    cause,
  );
}

function fill(from: DamagedFile, to: Database.Database, now: number, onCopied: OnCopied): Recovered {
  to.pragma('journal_mode = MEMORY');
  to.pragma('synchronous = OFF'); // synced as a whole at the end
  to.pragma('foreign_keys = OFF'); // checked at the end
  to.pragma('temp_store = MEMORY');
  applyMigrations(to, schemaNumber(from.connection));
  const [tables, complete] = to.transaction(
    () => [copyTables(from, to, onCopied), copyIndexEntries(from, to)] as const,
  )();
  applyMigrations(to);
  const counts = to.transaction(() => {
    const leadsWithoutText = repairLeads(to, now);
    const repairs = repairDeliveries(to, tables, complete, now);
    giveUpLostTexts(to, now);
    const deliveriesRepeated = oweAgain(to, now, repairs.incomplete || leadsWithoutText > 0);
    giveUpLostTexts(to, now);
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
    `There is no room on the disk for the recovered ledger ${target}. Nothing was changed.`,
    'It needs as much room as the ledger has now. Free that much, and run the command again.',
    error,
  );
}
