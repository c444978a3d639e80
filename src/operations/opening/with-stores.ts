import type { LedgerConfig } from '../../config/contract/config.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { ledgerPlaceOf } from './configured-ledger.ts';
import type { InstallationStores } from './installation-stores.ts';
import { isDataDirInUse } from './open-ledger.ts';

/** Calls `use` with what the installation keeps beside its leads, for a process that does not hold the data directory. @throws LedgerError */
export async function withStores<T>(
  config: Pick<LedgerConfig, 'dataDir' | 'ledgerServer'>,
  { clock }: { readonly clock: Clock },
  use: (stores: InstallationStores) => Promise<T>,
): Promise<T> {
  const stores = await ledgerPlaceOf(config).openStores({ clock, rotates: isFree(config.dataDir) });
  try {
    return await use(stores);
  } finally {
    await stores.close();
  }
}

/** Whether no other process rotates the audit log: a running daemon has the file open. */
function isFree(dataDir: string): boolean {
  try {
    return !isDataDirInUse(dataDir);
  } catch {
    return false; // a data directory that cannot be used is reported by what uses it
  }
}
