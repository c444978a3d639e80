import { existsSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { ExportFailed } from '../../exports/contract/export-failed.ts';
import { type BackupManifest, isCarried, readManifest } from '../../exports/files/attached-files.ts';
import { fetchBackup, nameOfSource, type RestoreSource } from '../../exports/restore-source.ts';
import { LedgerError, type LedgerErrorCode } from '../../ledger/contract/ledger-error.ts';
import { type CopyContents, prepareToRestore, readCopy } from '../../ledger/database/backup-contents.ts';
import { markedLedgers } from '../../ledger/database/high-water-mark.ts';
import { inspectFile } from '../../ledger/database/inspect-file.ts';
import { removeLedger, restoringFile } from '../../ledger/database/leftover-files.ts';
import { syncFile } from '../../ledger/recovery/build-recovered.ts';
import { exchangeLedger, stateOf } from '../../ledger/recovery/replace-ledger.ts';
import { diskFailure } from '../../platform/failures/disk-failure.ts';
import { disk, makeFolderDurably, writeFileDurably } from '../../platform/files/file-system.ts';
import { reach } from '../../platform/process/failpoint.ts';
import { printStamp } from '../../platform/text/human-readable.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { ERASURES, mergeErasures } from '../erasure/erasure-journal.ts';
import { setAside } from '../opening/file-place.ts';
import { exportFolder } from '../opening/installation-stores.ts';
import { isLedgerMissing } from '../opening/new-ledger.ts';
import { DataDirInUse, DataDirUnusable, holdDataDir, ledgerFile } from '../opening/open-ledger.ts';
import { hasLiveProcess } from '../opening/processes.ts';
import { requireLedgerFile } from '../opening/require-ledger-file.ts';

/** What to restore, and what the operator allows. */
export interface RestoreRequest {
  readonly source: RestoreSource;
  /** Whether to put the backup in place; otherwise it is only verified. */
  readonly exchange: boolean;
  /** Whether a ledger with content may be replaced. */
  readonly replace: boolean;
  /** Whether the backup may be that of another installation. */
  readonly foreign: boolean;
}

/** What `restoreLedger` works with. `signal` stops it before the exchange. */
export interface RestoreParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The result of a restore, or of its verification. */
export interface Restored {
  readonly file: string;
  /** Path or address of the backup. */
  readonly source: string;
  readonly contents: Omit<CopyContents, 'attached'>;
  /** Undefined if the backup is a plain copy of a ledger. */
  readonly manifest: BackupManifest | undefined;
  /** Whether there is a ledger that the backup would replace. */
  readonly replaces: boolean;
  /** Whether the backup was put in place. */
  readonly exchanged: boolean;
  /** New paths of the old ledger's files. */
  readonly aside: readonly string[];
  /** The other files that were restored because they were missing, as paths in the data directory. */
  readonly files: readonly string[];
}

/** The backup does not fit this data directory, or would replace a ledger. */
export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused';
  /** The next step for the operator. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/**
 * Verifies a backup and, if `exchange` is set, puts its ledger in place. Keeps the old ledger under another name. Keeps the other files of
 * the data directory, which are newer than the backup's, and adds the missing ones; the erasures of both are merged. Even if the process
 * dies, either the old ledger or the complete restored one is in place.
 * @throws NoLedgerFile; DataDirInUse if leadsync or a worker runs; RestoreRefused, ExportFailed, DataDirUnusable, LedgerError, or the signal's reason
 */
export async function restoreLedger(
  config: Pick<LedgerConfig, 'dataDir' | 'ledgerServer' | 'sources'>,
  request: RestoreRequest,
  { clock, signal }: RestoreParts,
): Promise<Restored> {
  const { dataDir } = config;
  const file = requireLedgerFile(
    config,
    'Stop leadsync, restore the schema with the tools that made its backup, such as pg_restore, then start leadsync again.',
  );
  const target = restoringFile(file);
  refuseLeftover(request.source, target);
  const held = holdDataDir(dataDir);
  try {
    requireNoWorker(dataDir);
    removeLedger(target);
    const { attached, ...contents } = await onDisk(target, () =>
      verified(request.source, dataDir, target, signal),
    );
    const found = {
      file,
      source: nameOfSource(request.source),
      contents,
      manifest: readManifest(attached),
      replaces: !isLedgerMissing(dataDir),
      exchanged: false,
      aside: [],
      files: [],
    };
    requireOwn(config, request, found);
    if (!request.exchange) return found;
    if (found.replaces && !request.replace) throw wouldReplace(file);
    return await onDisk(target, async () => {
      await mergeErasures(dataDir, attached.find(({ path }) => path === ERASURES)?.content);
      const files = await addMissing(dataDir, attached);
      prepareToRestore(target);
      syncFile(target);
      reach('restore-prepared');
      signal.throwIfAborted();
      requireNoWorker(dataDir); // again: the verification takes minutes, and a worker may have started in the meantime
      const aside = putInPlace(file, target, clock.now(), found.replaces);
      reach('restored');
      return { ...found, exchanged: true, aside, files };
    });
  } finally {
    removeLedger(target); // unless it was exchanged, because it contains personal data
    held.release();
  }
}

/** Refuses to restore the file of an unfinished restore, which this restore replaces before it reads anything. @throws RestoreRefused */
function refuseLeftover(source: RestoreSource, target: string): void {
  if (source.kind !== 'file' || !isSameFile(source.path, target)) return;
  throw new RestoreRefused(
    `${nameOfSource(source)} is what an unfinished restore has left behind, and each restore replaces it. It was left as it is.`,
    'Name the backup that it came from. If there is none, rename this file first, then restore it under its new name.',
  );
}

function isSameFile(one: string, other: string): boolean {
  try {
    const [a, b] = [statSync(one, { bigint: true }), statSync(other, { bigint: true })];
    return a.dev === b.dev && a.ino === b.ino;
  } catch {
    return false; // one of them is missing, or the reading of the backup reports the failure
  }
}

function requireNoWorker(dataDir: string): void {
  if (hasLiveProcess(dataDir)) throw new DataDirInUse(`A worker uses the data directory ${dataDir}.`);
}

/** Unpacks the backup beside the ledger, and checks it for damage. */
async function verified(
  source: RestoreSource,
  dataDir: string,
  target: string,
  signal: AbortSignal,
): Promise<CopyContents> {
  await fetchBackup(source, { output: target, folder: exportFolder(dataDir) }, signal);
  const contents = readBackup(source, target);
  const damage = await inspectFile(target, 'whole', signal);
  signal.throwIfAborted();
  if (damage === undefined) return contents;
  if (damage.code !== 'damaged') throw damage;
  throw new ExportFailed(
    `${nameOfSource(source)} is damaged.`,
    'Restore an earlier backup. If there is none, put the file into a data directory of its own as ledger.db: `leadsync recover` shows what can be read.',
    damage,
  );
}

function readBackup(source: RestoreSource, target: string): CopyContents {
  try {
    return readCopy(target);
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const name = nameOfSource(source);
    switch (error.code) {
      case 'newer':
        throw new ExportFailed(
          `${name} was written by a newer version of leadsync.`,
          'Install that version and restore the backup with it, or restore a backup from before the upgrade.',
          error,
        );
      case 'foreign':
        throw new ExportFailed(
          `${name} is not a leadsync backup.`,
          'Name a file that `leadsync backup` wrote, or a copy of ledger.db.',
          error,
        );
      case 'damaged':
        throw new ExportFailed(`${name} is incomplete or damaged.`, 'Restore an earlier backup.', error);
      default:
        throw error;
    }
  }
}

/** Requires that the backup comes from this installation. @throws RestoreRefused */
function requireOwn(
  { dataDir, sources }: Pick<LedgerConfig, 'dataDir' | 'sources'>,
  { foreign }: RestoreRequest,
  { source, contents }: Pick<Restored, 'source' | 'contents'>,
): void {
  if (foreign) return;
  const hint =
    'Choose a backup of this installation. If this is the right one, for example because you move an installation, add --other-installation.';
  const names = sources.map(({ name }) => name);
  if (contents.sources.length > 0 && !contents.sources.some((one) => names.includes(one)))
    throw new RestoreRefused(
      `${source} has leads of ${contents.sources.join(', ')}, but the configuration has the sources ${names.join(', ')}, so it comes from another installation.`,
      hint,
    );
  const known = markedLedgers(ledgerFile(dataDir));
  if (known.length > 0 && !known.includes(contents.ledgerId))
    throw new RestoreRefused(
      `${source} is a backup of a ledger that this data directory has never had, so it comes from another installation.`,
      hint,
    );
}

function wouldReplace(file: string): RestoreRefused {
  return new RestoreRefused(
    `There is a ledger at ${file}, which the backup would replace.`,
    'Add --replace to keep it under another name and to put the backup in its place. leadsync then does not know what it recorded and delivered after the backup.',
  );
}

/** Writes the files of the backup that the data directory lacks. Returns their paths. */
async function addMissing(dataDir: string, attached: CopyContents['attached']): Promise<string[]> {
  const added: string[] = [];
  for (const { path, content } of attached) {
    const target = join(dataDir, path);
    if (!isCarried(path) || path === ERASURES || existsSync(target)) continue;
    await makeFolderDurably(disk, dirname(target), 0o700);
    await writeFileDurably(disk, target, content, 0o600);
    added.push(path);
  }
  return added;
}

/** Puts the prepared ledger in the place of the old one, if there is one. Returns the new paths of the old files. */
function putInPlace(file: string, target: string, now: Date, replaces: boolean): readonly string[] {
  const aside = `${file}.replaced-${printStamp(now)}`;
  try {
    if (replaces) {
      exchangeLedger(file, target, aside, stateOf(file));
      return [aside];
    }
  } catch (error) {
    // The write-ahead log of an unreadable file cannot be copied into the file, so keep both as they are.
    if (!(error instanceof LedgerError && UNREADABLE.includes(error.code))) throw error;
  }
  const moved = replaces ? moveAside(file, aside) : setAside(file, now);
  renameSync(target, file);
  syncFile(dirname(file));
  return moved;
}

const UNREADABLE: readonly LedgerErrorCode[] = ['foreign', 'damaged'];

function moveAside(file: string, aside: string): string[] {
  const moved = ['-wal', '-shm', ''].filter((end) => existsSync(`${file}${end}`));
  for (const end of moved) renameSync(`${file}${end}`, `${aside}${end}`);
  return moved.map((end) => `${aside}${end}`);
}

async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isExplained =
      error instanceof ExportFailed ||
      error instanceof LedgerError ||
      error instanceof RestoreRefused ||
      error instanceof DataDirUnusable;
    throw isExplained || diskFailure(error) === undefined ? error : new DataDirUnusable(path, error);
  }
}
