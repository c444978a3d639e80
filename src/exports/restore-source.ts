import { createReadStream, createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { backUpLedger } from '../ledger/database/backup.ts';
import { ledgerSize } from '../ledger/database/inspect-file.ts';
import { codeOf } from '../platform/failures/error-code.ts';
import { makePrivateFile } from '../platform/files/private-file.ts';
import { printable } from '../platform/text/printable.ts';
import { ExportFailed, folderFailure } from './contract/export-failed.ts';
import { BACKUP_ENDING } from './contract/format-names.ts';
import type { ExportTarget } from './contract/options.ts';
import { openDestination } from './destinations/open-destination.ts';

/** Where a backup is read from: a file, or an object in a bucket. `file` is the part of the object's key after the target's prefix. */
export type RestoreSource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 's3'; readonly target: ExportTarget; readonly file: string };

const [GZIP, SQLITE] = [Buffer.from([0x1f, 0x8b]), Buffer.from('SQLite format 3\0')];

/** Returns the path or the address of a backup, for messages. */
export function nameOfSource(source: RestoreSource): string {
  if (source.kind === 'file') return printable(source.path);
  const { target, file } = source;
  return printable(target.type === 's3' ? `s3://${target.bucket}/${target.prefix}${file}` : file);
}

/**
 * Writes the ledger of a backup to `output`, decompressed and as a single file without a write-ahead log. Also accepts a plain copy of a
 * ledger, such as `ledger.db.before-schema-N`. `folder` temporarily holds a downloaded backup.
 * @throws ExportFailed if the backup cannot be read, is not a backup or is incomplete; the error from Node if the disk of `output` fails;
 * the signal's reason
 */
export async function fetchBackup(
  source: RestoreSource,
  { output, folder }: { readonly output: string; readonly folder: string },
  signal: AbortSignal,
): Promise<void> {
  if (source.kind === 'file') return unpack(source.path, nameOfSource(source), output, signal);
  const name = basename(source.file, BACKUP_ENDING).replace(/-\d{8}T\d{6}Z$/, '');
  const destination = await openDestination({ name, target: source.target }, folder);
  try {
    await destination.prepare(false);
    await destination.read(source.file, (path) => unpack(path, nameOfSource(source), output, signal), signal);
  } finally {
    destination.close();
  }
}

async function unpack(path: string, name: string, output: string, signal: AbortSignal): Promise<void> {
  const start = await firstBytes(path, name);
  makePrivateFile(output);
  if (start.subarray(0, GZIP.length).equals(GZIP)) return decompress(path, name, output, signal);
  if (!start.equals(SQLITE)) throw notABackup(name);
  // With a write-ahead log beside it, the file alone is not the whole ledger.
  // Not copyFile, which also copies the mode, so that others could read the ledger.
  if ((ledgerSize(`${path}-wal`) ?? 0) === 0)
    return pipeline(createReadStream(path), createWriteStream(output), { signal });
  await backUpLedger(path, output, { signal, onCopied: () => undefined });
}

async function firstBytes(path: string, name: string): Promise<Buffer> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw notABackup(name, 'a folder, and ');
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SQLITE.length), 0, SQLITE.length, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR')
      throw new ExportFailed(
        `There is no backup at ${name}.`,
        'Check the name. `leadsync restore` without a name lists the backups at the configured destinations.',
        error,
      );
    throw folderFailure(name, error) ?? error;
  }
}

async function decompress(path: string, name: string, output: string, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(createReadStream(path), createGunzip(), ledgerBytes(name), createWriteStream(output), {
      signal,
    });
  } catch (error) {
    if (!/^Z_/.test(codeOf(error) ?? '')) throw error;
    throw new ExportFailed(
      `${name} is incomplete or damaged (${codeOf(error)}).`,
      'Copy it again from where it was made, or restore an earlier backup.',
      error,
    );
  }
}

/**
 * Passes on a ledger, and fails if the content is not a ledger or is longer than its header says. Otherwise, a small file that is not a
 * backup could fill the disk.
 */
function ledgerBytes(name: string): Transform {
  let [passed, most] = [0, Number.POSITIVE_INFINITY];
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (passed === 0) {
        if (!chunk.subarray(0, SQLITE.length).equals(SQLITE)) return done(notABackup(name));
        most = sizeInHeader(chunk);
      }
      passed += chunk.length;
      if (passed <= most) return done(null, chunk);
      done(
        new ExportFailed(
          `${name} is damaged: it contains data after the end of the ledger.`,
          'Restore an earlier backup.',
        ),
      );
    },
  });
}

/**
 * Returns the size of an SQLite file according to its header, in bytes (https://sqlite.org/fileformat.html, section 1.3); infinity if the
 * header states none.
 */
function sizeInHeader(start: Buffer): number {
  const isKnown = start.length >= 100 && start.readUInt32BE(24) === start.readUInt32BE(92);
  const pageSize = start.length >= 100 ? start.readUInt16BE(16) : 0;
  return isKnown ? start.readUInt32BE(28) * (pageSize === 1 ? 65_536 : pageSize) : Number.POSITIVE_INFINITY;
}

function notABackup(name: string, what = ''): ExportFailed {
  return new ExportFailed(
    `${name} is ${what}not a leadsync backup.`,
    `Name a file that \`leadsync backup\` wrote, whose name ends in ${BACKUP_ENDING}, or a copy of ledger.db.`,
  );
}
