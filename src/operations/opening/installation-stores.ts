import { join } from 'node:path';
import { StoredAlerts } from '../../alerts/stored-alerts.ts';
import { AuditLog } from '../../audit/audit-log.ts';
import type { AuditStore } from '../../audit/audit-store.ts';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { type ExportStates, StoredExportStates } from '../../exports/export-states.ts';
import { DocumentFolder } from '../../platform/files/document-folder.ts';
import type { DocumentStore } from '../../platform/files/document-store.ts';
import { disk, type Files } from '../../platform/files/file-system.ts';
import type { Clock } from '../../platform/time/clock.ts';

/** What an installation keeps beside its leads, for all of its processes: where the ledger is, or in the data directory if the ledger is a file there. */
export interface InstallationStores {
  /** The tokens of sources, and the right to renew them. */
  readonly tokens: DocumentStore;
  /** The states of exports, and the right to run them. */
  readonly exports: DocumentStore;
  readonly alerts: DocumentStore;
  readonly audit: AuditStore;
  close(): Promise<void>;
}

/** Options for opening the stores. */
export interface StoreOptions {
  readonly clock: Clock;
  /** Whether this process rotates the audit log, if that is a file: the one that holds the data directory, or, if none does, any. */
  readonly rotates: boolean;
}

/** Returns the stores in a data directory. */
export function fileStores(
  dataDir: string,
  { clock, rotates }: StoreOptions,
  files: Files = disk,
): InstallationStores {
  const audit = new AuditLog(dataDir, clock, rotates ? undefined : Number.POSITIVE_INFINITY);
  return {
    tokens: new DocumentFolder(files, join(dataDir, 'tokens')),
    exports: new DocumentFolder(files, exportFolder(dataDir)),
    alerts: new DocumentFolder(files, dataDir),
    audit,
    close: () => audit.close(),
  };
}

/** Returns the states of the exports of an installation. The exports are made in `dataDir`, wherever their states are. */
export function exportStatesIn(
  { exports }: Pick<InstallationStores, 'exports'>,
  { dataDir }: Pick<LedgerConfig, 'dataDir'>,
): ExportStates {
  return new StoredExportStates(exports, exportFolder(dataDir));
}

/** Returns the state of the alerts of an installation, with a copy in memory. */
export function alertsIn({ alerts }: Pick<InstallationStores, 'alerts'>): StoredAlerts {
  return new StoredAlerts(alerts);
}

/** Returns the folder in which exports are made before they are moved to their destinations. */
export function exportFolder(dataDir: string): string {
  return join(dataDir, 'exports');
}
