import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { relations } from '../catalog/catalog.ts';
import type { TablesPlace } from '../ledger/contract/ledger-tables.ts';
import { ledgersAt } from '../ledger/database/backup.ts';
import { giveAllToParentOwner } from '../platform/files/folder-owner.ts';
import { PathExists, TemporaryRemoved } from '../platform/files/write-atomically.ts';
import { beyondKeep } from './contract/beyond-keep.ts';
import { ExportFailed, folderFailure, nameTaken } from './contract/export-failed.ts';
import { fileNameOf } from './contract/export-name.ts';
import { BACKUP, BACKUP_ENDING } from './contract/format-names.ts';
import type { ExportConfig } from './contract/options.ts';
import type { Destination } from './destinations/destination.ts';
import { type BackupRequest, writeBackup } from './files/backup-file.ts';
import { OWNER_BYTES, ownerIn } from './files/backup-owner.ts';
import { type ExportRequest, exportTables } from './files/export-tables.ts';

/** One run of an export or backup. */
export interface ExportRun {
  readonly ledger: TablesPlace;
  readonly at: Date;
  /** `ledgerAt` of the run that this one continues, to export the rows that were added or changed since then; undefined to export all rows. */
  readonly last: Date | undefined;
  /** Value of `_exported_at` in the rows of this run. Always later than in the previous run, even if the clock was set back. */
  readonly exportedAt: Date;
  /**
   * Whether to create a missing folder at the destination. True for a backup outside any schedule, and until a run with the present content and
   * destination has succeeded.
   */
  readonly first: boolean;
}

/** An export or backup at its destination. */
export interface ExportMade {
  /** When the run began to read the ledger, by the clock that the times in its rows go by: that of the ledger's server, or of this machine. */
  readonly ledgerAt: Date;
  /** Path or address of the export. */
  readonly place: string;
  readonly rows: number;
  readonly bytes: number;
  /** Number of older exports that were removed because of `keep`. */
  readonly removed: number;
}

/** Writes an export or backup, moves it to its destination, and applies `keep`. @throws ExportFailed, LedgerError, the signal's reason */
export async function makeExport(
  config: ExportConfig,
  destination: Destination,
  run: ExportRun,
  signal: AbortSignal,
): Promise<ExportMade> {
  await destination.prepare(run.first);
  if (config.format === BACKUP) await requireOwn(config, destination, run, signal);
  await destination.tidy(signal);
  const request = requestOf(config, destination.folder, run);
  const file = request.output.slice(destination.folder.length + 1);
  // Stop here if older exports cannot be removed, because every retry would add another export. `keep` newest ones stay until the new one is complete.
  const before = await removeOld(config, destination, file, signal);
  const { rows, serverNow = run.at } = await write(request, destination, signal);
  giveAllToParentOwner(request.output);
  const bytes = await sizeOf(request.output);
  await destination.bring(file, signal);
  const removed = before + (await removeOld(config, destination, file, signal));
  return { ledgerAt: serverNow, place: destination.nameOf(file), rows, bytes, removed };
}

/**
 * Requires that the backups with this name at the destination do not belong to another installation, because each installation would remove
 * the other's backups, for `keep` and while tidying. Reads the newest backup, or all of them if `keep` is set. @throws ExportFailed,
 * LedgerError
 */
async function requireOwn(
  { name, keep }: ExportConfig,
  destination: Destination,
  { ledger }: ExportRun,
  signal: AbortSignal,
): Promise<void> {
  const backups = (await destination.list(signal)).filter((file) => file.endsWith(BACKUP_ENDING));
  const own = backups.length === 0 ? [] : ledgersAt(fileOf(ledger));
  for (const file of keep === undefined ? backups.slice(-1) : backups) {
    const owner = ownerIn(await destination.readStart(file, OWNER_BYTES, signal));
    if (owner === undefined || own.includes(owner)) continue;
    throw new ExportFailed(
      `${destination.nameOf(file)} is a backup of another installation, and two installations cannot keep backups in one place under the name ${name}. Nothing was written or removed.`,
      'Give the backup of this installation another name, folder or prefix. If this installation permanently replaces the other, move the old backups to another place.',
    );
  }
}

/** Returns the file of a ledger to back up. @throws ExportFailed if the ledger is on a server, which the configuration refuses */
function fileOf(ledger: TablesPlace): string {
  if (ledger.kind === 'file') return ledger.file;
  throw new ExportFailed(
    'leadsync cannot back up a ledger that is on a server.',
    "Use pg_dump, or the backups of the server's provider.",
  );
}

type Request = ({ readonly kind: 'backup' } & BackupRequest) | ({ readonly kind: 'export' } & ExportRequest);

function requestOf(config: ExportConfig, folder: string, run: ExportRun): Request {
  const { name, format, tables, target } = config;
  const { ledger, at } = run;
  if (format === BACKUP) {
    const output = join(folder, fileNameOf(name, at, BACKUP_ENDING));
    return { kind: 'backup', ledgerFile: fileOf(ledger), output, isStaged: target.type === 's3', at };
  }
  const chosen = relations.filter((one) => tables.includes(one.name));
  const isFile = format === 'sqlite' || chosen.length === 1;
  const file = fileNameOf(name, at, isFile ? `.${format}` : '');
  return {
    kind: 'export',
    ledger,
    output: join(folder, file),
    format,
    relations: chosen,
    layout: isFile ? 'file' : 'folder',
    since: (serverNow = at) => sinceOf(run, serverNow),
    exportedAt: run.exportedAt,
  };
}

/**
 * Overlap of an export of new rows with the previous one, in ms. A long poll that began before the previous export may write rows after
 * that export, and these rows carry the time at which the poll began.
 */
const OVERLAP_MS = 3_600_000;

/** Returns the time from which a run exports rows; undefined for all rows, also if the clock of the ledger was set back since the last run. */
function sinceOf({ last }: ExportRun, now: Date): Date | undefined {
  return last === undefined || last > now ? undefined : new Date(last.getTime() - OVERLAP_MS);
}

/** Writes an export. Returns its number of rows, or of leads for a backup, and the time by the clock of the ledger's server, if there is one. */
async function write(
  request: Request,
  destination: Destination,
  signal: AbortSignal,
): Promise<{ rows: number; serverNow?: Date | undefined }> {
  try {
    if (request.kind === 'backup') return { rows: (await writeBackup(request, signal))['_leads'] ?? 0 };
    const counts = new Map<string, number>();
    const serverNow = await exportTables(request, (table, rows) => void counts.set(table, rows), signal);
    return { rows: counts.values().reduce((sum, rows) => sum + rows, 0), serverNow };
  } catch (error) {
    if (error instanceof PathExists) throw nameTaken(request.output, error);
    if (error instanceof TemporaryRemoved) throw new ExportFailed(error.message, error.hint, error);
    throw folderFailure(destination.folder, error) ?? error;
  }
}

/** Removes the oldest exports beyond `keep`. */
async function removeOld(
  config: ExportConfig,
  destination: Destination,
  made: string,
  signal: AbortSignal,
): Promise<number> {
  if (config.keep === undefined) return 0;
  const old = beyondKeep(config, await destination.list(signal), made);
  for (const file of old) await destination.remove(file, signal);
  return old.length;
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.size;
  let sum = 0;
  for (const name of await readdir(path)) sum += await sizeOf(join(path, name));
  return sum;
}
