import type { AuditStore } from '../audit/audit-store.ts';
import type { DocumentStore } from '../platform/files/document-store.ts';
import type { Clock } from '../platform/time/clock.ts';
import { PostgresAccess, type PostgresPlace } from './database/postgres-access.ts';
import { AuditTable } from './installation/audit-table.ts';
import { DocumentTable } from './installation/document-table.ts';

/** What an installation keeps in the schema of its ledger, apart from leads. */
export interface InstallationStores {
  readonly tokens: DocumentStore;
  readonly audit: AuditStore;
  close(): Promise<void>;
}

/** Opens the stores in the schema of a ledger that exists. Connects with the first call. */
export async function openInstallationStores(
  place: PostgresPlace,
  clock: Clock,
): Promise<InstallationStores> {
  const access = await PostgresAccess.open({ ...place, connections: 1 });
  return {
    tokens: new DocumentTable(access, 'tokens', clock),
    audit: new AuditTable(access, clock),
    close: () => access.close(),
  };
}
