import type Database from 'better-sqlite3';
import type { Judge } from '../leads/judge.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import type { Ledger } from './contract/ledger.ts';
import { toLedgerError } from './contract/ledger-error.ts';
import type { Opening } from './contract/ledger-upkeep.ts';
import { LedgerAccess } from './database/ledger-access.ts';
import { connect, prepareFile, renameCopy, requireFile } from './database/ledger-file.ts';
import { removeLeftovers } from './database/leftovers.ts';
import { SinkRows } from './database/sink-rows.ts';
import { migrate, recognise, requireThisShape } from './database/upgrading.ts';
import { Owing } from './delivering/owing.ts';
import type { LedgerEngine } from './engine.ts';
import { ledgerOf } from './ledger-of.ts';
import { controlOf } from './sqlite-control.ts';
import { deliveringOf } from './sqlite-delivering.ts';
import { personsOf } from './sqlite-persons.ts';
import { pollingOf } from './sqlite-polling.ts';
import { queriesOf } from './sqlite-queries.ts';
import { upkeepOf } from './sqlite-upkeep.ts';

/** Where the ledger is, and what it decides by: `judge` says what an attempt's outcomes mean, `random` makes leases. */
export interface LedgerOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
  /**
   * Whether a missing ledger is made and an older one upgraded, or both are an error. Only for the process that holds the
   * data directory: beside a daemon of another version nothing may change the schema.
   */
  readonly create: boolean;
  /** Names this process among those that attempt; whoever finds it dead can end its leases. Absent: it attempts nothing. */
  readonly holder?: string;
  /** How the file is opened; a test keeps the connection, to let the disk be full. */
  readonly connect?: (file: string) => Database.Database;
}

/** Opens the ledger in this thread, and upgrades it if `create` allows that. @throws LedgerError */
export function openLedger(options: LedgerOptions): Ledger {
  return ledgerOf(openEngine(options), options);
}

/** The same as its engine, for a thread that others ask. @throws LedgerError */
export function openEngine(options: LedgerOptions): LedgerEngine {
  const { file, create } = options;
  if (!create) requireFile(file);
  let db: Database.Database | undefined;
  try {
    db = (options.connect ?? connect)(file);
    // Before anything is changed: a file that is not ours stays as it is.
    if (create) recognise(db);
    else requireThisShape(db);
    prepareFile(db);
    if (create) removeLeftovers(file);
    const upgraded = create ? migrate(db) : undefined;
    const isCopy = create && renameCopy(db, options.clock.now());
    return compose(db, options, { upgraded, isCopy });
  } catch (error) {
    db?.close();
    throw toLedgerError(error, file);
  }
}

/** The engine's parts on one connection, by who asks them. */
function compose(db: Database.Database, options: LedgerOptions, opening: Opening): LedgerEngine {
  const { clock, random, judge, holder = 'nobody' } = options;
  const rows = new SinkRows(db);
  const access = new LedgerAccess(db, rows, clock);
  const owing = new Owing(db, rows);
  return {
    ...upkeepOf(db, access, opening),
    ...pollingOf(db, access, clock, owing),
    ...deliveringOf(db, access, { clock, random, judge, rows, owing, holder }),
    ...queriesOf(db, access, rows),
    ...controlOf(db, access, { clock, rows, owing }),
    ...personsOf(db, access, clock, rows),
  };
}
