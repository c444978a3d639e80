import type { LedgerConfig } from '../config/contract/config.ts';
import { freeBytes } from '../platform/files/free-bytes.ts';
import type { DiskSpace } from '../status/problems/problem.ts';
import { ledgerPlaceOf } from './opening/configured-ledger.ts';

/** Returns the free space on the disk of the data directory, with the configured minimum. */
export async function diskSpace({
  dataDir,
  minFreeBytes,
}: Pick<LedgerConfig, 'dataDir' | 'minFreeBytes'>): Promise<DiskSpace> {
  return { freeBytes: await freeBytes(dataDir), minFreeBytes };
}

/** Returns the free space on the disk of the data directory, and the size of the ledger, in bytes. */
export async function diskSizes(config: Pick<LedgerConfig, 'dataDir' | 'ledgerServer'>) {
  const ledgerBytes = await ledgerPlaceOf(config).bytes();
  return { freeBytes: await freeBytes(config.dataDir), ledgerBytes };
}
