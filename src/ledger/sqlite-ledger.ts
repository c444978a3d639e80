import type Database from 'better-sqlite3';
import type { Judge } from '../leads/judge.ts';
import type { Clock, Random } from '../platform/clock.ts';
import { BegunAttempts } from './begun-attempts.ts';
import type { Ledger } from './ledger.ts';
import { LedgerAccess } from './ledger-access.ts';
import { toLedgerError } from './ledger-error.ts';
import { connect, prepareFile, renameCopy, requireFile } from './ledger-file.ts';
import { Owing } from './owing.ts';
import { migrate, recognise } from './schema.ts';
import { SinkRows } from './sink-rows.ts';
import { amendingOf } from './sqlite-amending.ts';
import { askingOf } from './sqlite-asking.ts';
import { deliveringOf } from './sqlite-delivering.ts';
import { personsOf } from './sqlite-persons.ts';
import { pollingOf } from './sqlite-polling.ts';
import { upkeepOf } from './sqlite-upkeep.ts';

/** Where the ledger is, and what it decides by: `judge` says what an attempt's outcomes mean, `random` makes leases. */
export interface LedgerOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
  /** Whether a missing ledger is made, or an error. */
  readonly create: boolean;
  /** Names this process among those that attempt; whoever finds it dead can end its leases. Absent: it attempts nothing. */
  readonly holder?: string;
  /** How the file is opened; a test keeps the connection, to let the disk be full. */
  readonly connect?: (file: string) => Database.Database;
}

/** Opens the ledger and brings it to this version's shape. @throws LedgerError */
export function openLedger(options: LedgerOptions): Ledger {
  const { file, create } = options;
  if (!create) requireFile(file);
  let db: Database.Database | undefined;
  try {
    db = (options.connect ?? connect)(file);
    recognise(db); // before anything is changed: a file that is not ours stays as it is
    prepareFile(db);
    migrate(db);
    if (create) renameCopy(db);
    return compose(db, options);
  } catch (error) {
    db?.close();
    throw toLedgerError(error, file);
  }
}

/** The ledger's parts on one connection, by who asks them. */
function compose(db: Database.Database, options: LedgerOptions): Ledger {
  const { clock, random, judge, holder = 'nobody' } = options;
  const rows = new SinkRows(db);
  const access = new LedgerAccess(db, rows);
  const owing = new Owing(db, rows);
  const begun = new BegunAttempts();
  return {
    ...upkeepOf(db, access),
    ...pollingOf(db, access, clock, owing),
    ...deliveringOf(db, access, { clock, random, judge, rows, begun, holder }),
    ...askingOf(db, access, rows),
    ...amendingOf(db, access, { clock, rows, owing, begun }),
    ...personsOf(db, access, clock, rows),
  };
}
