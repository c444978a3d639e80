import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDataDirInUse } from './open-ledger.ts';

/** Address of the admin server of the leadsync that holds a data directory, and the id in its answers. */
export interface AdminEndpoint {
  readonly host: string;
  readonly port: number;
  /** Random id of this start. Another leadsync that answers at the same address has a different id. */
  readonly instance: string;
  /** Secret with which a command proves that it may write to the audit log itself; absent if this leadsync accepts no such proof. */
  readonly recordKey?: string;
}

/** Writes the endpoint into the data directory, so that commands can reach the leadsync that holds the directory. */
export function writeAdminEndpoint(dataDir: string, endpoint: AdminEndpoint): void {
  writeFileSync(fileOf(dataDir), `${JSON.stringify(endpoint)}\n`, { mode: 0o600 });
}

/** Removes the endpoint of this leadsync, or of one that was killed. */
export function removeAdminEndpoint(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true });
}

/**
 * Returns the endpoint of the leadsync that holds the data directory; undefined if no leadsync holds it, or if that leadsync has no admin
 * server.
 */
export function readAdminEndpoint(dataDir: string): AdminEndpoint | undefined {
  if (!isDataDirInUse(dataDir)) return undefined;
  try {
    const { host, port, instance, recordKey } = JSON.parse(readFileSync(fileOf(dataDir), 'utf8'));
    return {
      host: String(host),
      port: Number(port),
      instance: String(instance),
      ...(typeof recordKey === 'string' && { recordKey }),
    };
  } catch {
    return undefined; // leadsync is starting or stopping, or is a version that does not write the file
  }
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'admin.json');
}
