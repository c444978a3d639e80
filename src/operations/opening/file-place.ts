import { existsSync, renameSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { CopySource, CopyTarget } from '../../ledger/contract/ledger-copy.ts';
import type { PageReader } from '../../ledger/contract/ledger-pages.ts';
import type { TablesPlace } from '../../ledger/contract/ledger-tables.ts';
import { liftMove, openSqliteSource } from '../../ledger/copying/sqlite-copy-source.ts';
import { inspectSqliteTarget, openSqliteTarget } from '../../ledger/copying/sqlite-copy-target.ts';
import { inspectFile, isBlank, ledgerSize } from '../../ledger/database/inspect-file.ts';
import { QueryThread } from '../../ledger/queries/start-query-thread.ts';
import { openLedger } from '../../ledger/sqlite-ledger.ts';
import { printStamp } from '../../platform/text/human-readable.ts';
import { fileStores, type InstallationStores, type StoreOptions } from './installation-stores.ts';
import type { LedgerPlace, OpenOptions } from './ledger-place.ts';
import { ledgerFile } from './open-ledger.ts';

/** File name of the ledger's write-ahead log. */
const LOG = 'ledger.db-wal';

/**
 * Files that only a leadsync with a ledger leaves in the data directory. Tokens do not count, because `login` and `check` store them before
 * the first start.
 */
export const LEFT_BEHIND: readonly string[] = ['processes', 'alerts.json', 'audit.jsonl', 'erased.jsonl'];

/** The place of a ledger in SQLite: a file in the data directory. */
export class FilePlace implements LedgerPlace {
  readonly where: string;
  readonly file: string;
  readonly tables: TablesPlace;
  readonly runSql = undefined;
  readonly whenReplaced =
    'Put the same file back, then start leadsync again. To use a backup instead, restore it with `leadsync restore`. If you copy a file there yourself, first remove ledger.db-wal and ledger.db-shm, which belong to the previous ledger and would damage another one.';

  readonly whenLost =
    'If data_dir is not mounted, mount it. If ledger.db was removed or truncated, restore it from a backup with `leadsync restore`. Then start leadsync again.';

  constructor(dataDir: string) {
    this.where = dataDir;
    this.file = ledgerFile(dataDir);
    this.tables = { kind: 'file', file: this.file };
  }

  async isMissing(): Promise<boolean> {
    return isBlank(this.file);
  }

  remains(): string {
    return existsSync(this.file) ? ': ledger.db is empty' : '';
  }

  mayExist(): boolean {
    try {
      return !isBlank(this.file);
    } catch {
      return true; // its check reports the problem
    }
  }

  /** Checks the whole file for damage, including each index against its table. */
  async check(signal: AbortSignal): Promise<string> {
    await this.isMissing(); // throws if the file cannot be reached
    const damage = await inspectFile(this.file, 'whole', signal);
    if (damage) throw damage;
    signal.throwIfAborted();
    return 'The ledger is undamaged.';
  }

  /** Returns the size with the write-ahead log; undefined if the file is missing, or if other checks report that it cannot be reached. */
  async bytes(): Promise<number | undefined> {
    const [ledger, log] = await Promise.all([sizeOf(this.file), sizeOf(`${this.file}-wal`)]);
    return ledger === undefined ? undefined : ledger + (log ?? 0);
  }

  traces(): readonly string[] {
    // If the file has content, leadsync was killed during its first start, before its first commit. The log then comes from that start.
    const isStarted = (ledgerSize(this.file) ?? 0) > 1;
    const names = [...LEFT_BEHIND, ...(isStarted ? [] : [LOG]), 'ledger.db.mark', 'ledger.db.restoring'];
    return names.filter((name) => existsSync(join(this.where, name)));
  }

  setAside(now: Date): string[] {
    return setAside(this.file, now);
  }

  async open({ holder, ...options }: OpenOptions): Promise<Ledger> {
    const held = holder === undefined ? {} : { holder };
    return openLedger({ ...options, ...held, file: this.file, compilesLate: true });
  }

  async usedElsewhere(): Promise<undefined> {}

  async liftMove(): Promise<boolean> {
    return liftMove(this.file);
  }

  async copySource(): Promise<CopySource> {
    return openSqliteSource(this.file);
  }

  async inspectTarget(source: string): Promise<boolean> {
    return inspectSqliteTarget(this.file, source);
  }

  async copyTarget(source: string): Promise<CopyTarget> {
    return openSqliteTarget(this.file, source);
  }

  async openStores(options: StoreOptions): Promise<InstallationStores> {
    return fileStores(this.where, options);
  }

  async openPages(ledger: Pick<Ledger, 'reportDamage'>): Promise<PageReader> {
    return new QueryThread(this.file, { onDamage: (damage) => ledger.reportDamage(damage) });
  }
}

/** Renames the write-ahead log of a missing ledger, because SQLite would delete it. Returns the new names. */
export function setAside(file: string, now: Date): string[] {
  return ['-wal', '-shm']
    .filter((end) => existsSync(`${file}${end}`))
    .map((end) => {
      const aside = `${file}.left-${printStamp(now)}${end}`;
      renameSync(`${file}${end}`, aside);
      return aside;
    });
}

async function sizeOf(file: string): Promise<number | undefined> {
  return stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
}
