import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { statfs, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import { backUpLedger } from '../../ledger/database/backup.ts';
import { attachFiles, type RowCounts, readCopy } from '../../ledger/database/backup-contents.ts';
import { inspectFile, ledgerSize } from '../../ledger/database/inspect-file.ts';
import { removeLedger } from '../../ledger/database/leftover-files.ts';
import { makePrivateFile } from '../../platform/files/private-file.ts';
import { temporaryName } from '../../platform/files/temporary-name.ts';
import { writeAtomically } from '../../platform/files/write-atomically.ts';
import { version } from '../../platform/process/version.ts';
import { printBytes } from '../../platform/text/human-readable.ts';
import { ExportFailed } from '../contract/export-failed.ts';
import { carriedFiles, manifestFile } from './attached-files.ts';
import { ownerMember } from './backup-owner.ts';

/** Which ledger to back up, and where. */
export interface BackupRequest {
  readonly ledgerFile: string;
  /** Path of the file, which must not exist. */
  readonly output: string;
  /** Whether `output` is in `data_dir`, from which the backup is then moved to a bucket. */
  readonly isStaged: boolean;
  /** The time of this backup. */
  readonly at: Date;
}

/** Space that must be free, as a multiple of the ledger's size. One part is for the copy, one for the compressed copy. */
const SPACE_FACTOR = 2;

/**
 * Writes a backup: a copy of the ledger with the other files of the data directory attached, compressed with gzip. Checks that the copy is
 * undamaged and has all rows, and that the compressed file decompresses to the copy. The daemon may run meanwhile; its writes do not wait.
 * Returns the number of rows by table.
 * @throws PathExists, TemporaryRemoved, ExportFailed, LedgerError, the error from Node if the disk fails, the signal's reason
 */
export async function writeBackup(request: BackupRequest, signal: AbortSignal): Promise<RowCounts> {
  const { ledgerFile, output, isStaged, at } = request;
  const copy = temporaryName(output);
  let counts: RowCounts = {};
  try {
    await writeAtomically(output, async (temporary) => {
      await requireSpace(ledgerFile, dirname(output), isStaged);
      counts = await backUpLedger(ledgerFile, copy, { signal, onCopied: () => undefined });
      // The files are read after the snapshot, so that the erasure journal is not older than the ledger.
      const manifest = manifestFile({ madeAt: at, leadsync: version });
      attachFiles(copy, [manifest, ...carriedFiles(dirname(ledgerFile))]);
      const ledgerId = await requireSound(copy, counts, signal);
      await compress(copy, temporary, ledgerId, signal);
    });
  } finally {
    removeLedger(copy);
  }
  return counts;
}

async function requireSpace(ledgerFile: string, folder: string, isStaged: boolean): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(folder);
  const needed = SPACE_FACTOR * ((ledgerSize(ledgerFile) ?? 0) + (ledgerSize(`${ledgerFile}-wal`) ?? 0));
  const free = bavail * bsize;
  // A file system that reports no blocks does not say how much space it has.
  if (blocks === 0 || free >= needed) return;
  throw new ExportFailed(
    `${folder} is on a disk with ${printBytes(free)} of free space, and a backup needs ${printBytes(needed)}.`,
    isStaged
      ? 'Free space on the disk of `data_dir`, where a backup is prepared. Nothing was written.'
      : 'Free space on the disk, lower `keep`, or choose a folder on another disk. Nothing was written.',
  );
}

/** Checks a copy, and returns the id of its ledger. @throws ExportFailed, LedgerError */
async function requireSound(copy: string, counts: RowCounts, signal: AbortSignal): Promise<string> {
  const damage = await inspectFile(copy, 'whole', signal);
  signal.throwIfAborted();
  if (damage && damage.code !== 'damaged') throw damage;
  const found = readCopy(copy);
  const isWhole = JSON.stringify(found.counts) === JSON.stringify(counts);
  if (damage === undefined && isWhole) return found.ledgerId;
  throw new ExportFailed(
    'The copy of the ledger is damaged, so leadsync discarded it. The earlier backups stay.',
    '`leadsync check` shows whether the ledger itself is damaged. If it is not, check the disk to which the backup is written.',
    damage,
  );
}

/** Compresses a file, and requires that the result decompresses to the same bytes. */
async function compress(copy: string, output: string, ledgerId: string, signal: AbortSignal): Promise<void> {
  makePrivateFile(output);
  await writeFile(output, ownerMember(ledgerId));
  const [written, read] = [createHash('sha256'), createHash('sha256')];
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  const rest = createWriteStream(output, { flags: 'a' });
  await pipeline(createReadStream(copy), hashing(written), gzip, rest, { signal });
  await unlink(copy); // before the check, which needs no space, so that a full disk soon has free space again
  await pipeline(createReadStream(output), createGunzip(), hashing(read).resume(), { signal });
  if (written.digest('hex') === read.digest('hex')) return;
  throw new ExportFailed(
    'The backup could not be read back as it was written, so leadsync discarded it. The earlier backups stay.',
    'Check the disk, because it did not return the bytes that were written.',
  );
}

function hashing(hash: ReturnType<typeof createHash>): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}
