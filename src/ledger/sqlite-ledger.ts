import type Database from 'better-sqlite3';
import type { Judge } from '../leads/judgement.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import { toLedgerError } from './contract/ledger-error.ts';
import type { Opening } from './contract/ledger-upkeep.ts';
import type { MirroredLedger } from './contract/mirrored-ledger.ts';
import { compilingLate } from './database/late-statements.ts';
import { LedgerAccess } from './database/ledger-access.ts';
import { connect, prepareFile, renewIdOfCopy, requireFile } from './database/ledger-file.ts';
import { removeLeftovers } from './database/leftover-files.ts';
import { SinkActivity, writeBehindOf } from './database/sink-activity.ts';
import { SinkRows } from './database/sink-rows.ts';
import { Owing } from './delivering/owing.ts';
import type { LedgerEngine } from './engine.ts';
import { ledgerOf } from './ledger-from-engine.ts';
import { requireFinished, requireNotMoved } from './schema/copy-marks.ts';
import { migrate, recognise, requireCurrentSchema } from './schema/upgrading.ts';
import { controlOf } from './sqlite-control.ts';
import { deliveringOf } from './sqlite-delivering.ts';
import { personsOf } from './sqlite-persons.ts';
import { pollingOf } from './sqlite-polling.ts';
import { queriesOf } from './sqlite-queries.ts';
import { upkeepOf } from './sqlite-upkeep.ts';

/** The options of a ledger. `judge` decides what an attempt's outcomes mean; `random` draws lease numbers. */
export interface LedgerOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
  /**
   * Whether to create a missing ledger and upgrade an older one. If false, a missing or older ledger is an error. May be true only in the
   * process that holds the data directory, because no other process may change the schema while a daemon runs.
   */
  readonly create: boolean;
  /**
   * The name of this process as lease holder, by which other processes reclaim its leases if it dies. Undefined if this process attempts no
   * batches.
   */
  readonly holder?: string;
  /** Whether to compile a statement when it is first executed: for a short command, which executes few of them. Default: when the ledger is opened. */
  readonly compilesLate?: boolean;
  /** Opens the file. Tests replace it to keep the connection, so that they can simulate a full disk. */
  readonly connect?: (file: string) => Database.Database;
}

/** Opens the ledger in this thread. If `create` is set, creates or upgrades it as necessary. @throws LedgerError */
export function openLedger(options: LedgerOptions): MirroredLedger {
  return ledgerOf(openEngine(options), options);
}

/** Opens the ledger's engine, for a thread that serves the calls of another thread. @throws LedgerError */
export function openEngine(options: LedgerOptions): LedgerEngine {
  const { file, create } = options;
  if (!create) requireFile(file);
  let db: Database.Database | undefined;
  try {
    const opened = (options.connect ?? connect)(file);
    db = options.compilesLate ? compilingLate(opened) : opened;
    // Before anything else, because a file that is not a ledger must not be changed.
    if (create) {
      recognise(db);
      requireFinished(db);
    } else requireCurrentSchema(db);
    // A command may still show what the ledger has.
    if (create || options.holder !== undefined) requireNotMoved(db);
    prepareFile(db);
    if (create) removeLeftovers(file);
    const upgraded = create ? migrate(db) : undefined;
    const isCopy = create && renewIdOfCopy(db, options.clock.now());
    return compose(db, options, { upgraded, isCopy });
  } catch (error) {
    db?.close();
    throw toLedgerError(error, file);
  }
}

/** Returns an engine whose parts share one connection. */
function compose(db: Database.Database, options: LedgerOptions, opening: Opening): LedgerEngine {
  const { clock, random, judge, holder = 'nobody' } = options;
  const rows = new SinkRows(db);
  const activity = new SinkActivity(db);
  const access = new LedgerAccess(db, writeBehindOf(rows, activity), clock);
  const owing = new Owing(db, rows);
  return {
    ...upkeepOf(db, access, opening),
    ...pollingOf(db, access, clock, owing),
    ...deliveringOf(db, access, { clock, random, judge, rows, activity, owing, holder }),
    ...queriesOf(db, access, rows),
    ...controlOf(db, access, { clock, rows, activity, owing }),
    ...personsOf(db, access, clock, rows),
  };
}
