import type { Clock } from '../platform/time/clock.ts';
import { PostgresAccess, type PostgresPlace } from './database/postgres-access.ts';
import { AuditTable } from './installation/audit-table.ts';
import { DocumentTable } from './installation/document-table.ts';

/** Returns what an installation keeps beside its leads, in the schema of a ledger that exists. Connects with the first call. */
export async function openInstallationStores(place: PostgresPlace, clock: Clock) {
  const access = await PostgresAccess.open({ ...place, connections: 1 });
  return {
    tokens: new DocumentTable(access, 'tokens', clock),
    exports: new DocumentTable(access, 'exports', clock),
    alerts: new DocumentTable(access, 'alerts', clock),
    audit: new AuditTable(access, clock),
    close: () => access.close(),
  };
}
