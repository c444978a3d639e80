import type { Judge } from '../../leads/judgement.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { CopySource, CopyTarget } from '../../ledger/contract/ledger-copy.ts';
import type { PageReader } from '../../ledger/contract/ledger-pages.ts';
import type { RunSql, TablesPlace } from '../../ledger/contract/ledger-tables.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import type { InstallationStores, StoreOptions } from './installation-stores.ts';

/** Options for opening a ledger, whatever its engine. */
export interface OpenOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
  /** Whether to create a missing ledger; otherwise a missing ledger is an error. */
  readonly create: boolean;
  /** Name under which the ledger records the leases of this process. Absent: this process makes no attempts. */
  readonly holder?: string | undefined;
}

/** Where the ledger of a configuration is. There is one implementation for each engine, and no other part of leadsync asks which one it is. */
export interface LedgerPlace {
  /** The place in messages, after "in": the data directory, or the server, the database and the schema. Contains no password. */
  readonly where: string;
  /** The file of a ledger whose calls block the thread that makes them; undefined if calls only wait for a server. */
  readonly file: string | undefined;
  /** Where exports read the tables of the ledger. */
  readonly tables: TablesPlace;
  /** Runs a query that a person typed; undefined if the ledger is in `file`, where a query needs a process of its own. */
  readonly runSql: RunSql | undefined;
  /** The next step when the ledger was removed or replaced while leadsync was running, as sentences. */
  readonly whenReplaced: string;
  /** The next step when there is no ledger although there was one, as sentences. */
  readonly whenLost: string;
  /** Whether there is no ledger yet. @throws LedgerError if that cannot be found out, or if something else is in its place */
  isMissing(): Promise<boolean>;
  /** Returns what is in the place of a missing ledger, as the end of a sentence; empty if nothing is. */
  remains(): string;
  /** Whether `check` has something to check. Does not wait for a server. */
  mayExist(): boolean;
  /** Checks the ledger and what it needs. Returns what it found, as sentences. @throws LedgerError */
  check(signal: AbortSignal, clock: Clock): Promise<string>;
  /** Returns the size of the ledger in bytes; undefined if only the server knows it. */
  bytes(): Promise<number | undefined>;
  /** Returns the names of files in the data directory that only a leadsync with an earlier ledger leaves there. */
  traces(): readonly string[];
  /** Renames files of a missing ledger that a new ledger would overwrite. Returns the new names. */
  setAside(now: Date): readonly string[];
  /** Opens the ledger in this thread. @throws LedgerError */
  open(options: OpenOptions): Promise<Ledger>;
  /** Returns a description of the processes that work on the ledger, if none uses this data directory; undefined if there are none. @throws LedgerError */
  usedElsewhere(): Promise<string | undefined>;
  /** Takes the mark away that the ledger was moved to another place. Returns whether it had the mark. @throws LedgerError */
  liftMove(): Promise<boolean>;
  /** Opens the ledger to copy it. This process must hold the data directory. @throws LedgerError with the code `held` if another machine works on it */
  copySource(): Promise<CopySource>;
  /** Checks that the ledger with the id `source` can be copied here. Returns whether an earlier copy of it was not finished. @throws LedgerError */
  inspectTarget(source: string): Promise<boolean>;
  /** Begins or continues a copy of the ledger with the id `source`. @throws LedgerError */
  copyTarget(source: string): Promise<CopyTarget>;
  /**
   * Opens what the installation keeps beside its leads. If there is no ledger on the server yet, that is in the data directory, from where the first
   * start takes it over. @throws LedgerError
   */
  openStores(options: StoreOptions): Promise<InstallationStores>;
  /** Opens a reader for the pages and the API. Reports damage that a query finds to `ledger`. */
  openPages(ledger: Pick<Ledger, 'reportDamage'>): Promise<PageReader>;
}
