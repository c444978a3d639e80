import { stat } from 'node:fs/promises';
import type { LedgerConfig } from '../config/contract/config.ts';
import { freeBytes } from '../platform/files/free-bytes.ts';
import type { DiskSpace } from '../status/problem.ts';
import { ledgerFile } from './opening/open-ledger.ts';

/** Returns the free space on the disk of the data directory, with the configured minimum. */
export async function diskSpace({
  dataDir,
  minFreeBytes,
}: Pick<LedgerConfig, 'dataDir' | 'minFreeBytes'>): Promise<DiskSpace> {
  return { freeBytes: await freeBytes(dataDir), minFreeBytes };
}

/** Returns the free space on the disk of the data directory, and the size of the ledger with its write-ahead log, in bytes. */
export async function diskSizes(dataDir: string) {
  const file = ledgerFile(dataDir);
  const [ledger, log] = await Promise.all([sizeOf(file), sizeOf(`${file}-wal`)]);
  const ledgerBytes = ledger === undefined ? undefined : ledger + (log ?? 0);
  return { freeBytes: await freeBytes(dataDir), ledgerBytes };
}

async function sizeOf(file: string): Promise<number | undefined> {
  return stat(file).then(
    ({ size }) => size,
    () => undefined, // the file is missing, or other checks report that it cannot be reached
  );
}
