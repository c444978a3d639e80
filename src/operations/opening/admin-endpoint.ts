import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDataDirInUse } from './open-ledger.ts';

/** Where the leadsync that holds a data directory answers, and the id that stands in its answers. */
export interface AdminEndpoint {
  readonly host: string;
  readonly port: number;
  /** Drawn anew at each start: another leadsync that answers at the same address has another one. */
  readonly instance: string;
}

/** Writes it into the data directory, for the commands that ask the leadsync which holds it. */
export function writeAdminEndpoint(dataDir: string, { host, port, instance }: AdminEndpoint): void {
  writeFileSync(fileOf(dataDir), `${JSON.stringify({ host, port, instance })}\n`, { mode: 0o600 });
}

/** Removes what this leadsync has written, or one that was killed has left behind. */
export function removeAdminEndpoint(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true });
}

/** Returns what the leadsync that holds the data directory has written; undefined when none holds it, or it answers nowhere. */
export function readAdminEndpoint(dataDir: string): AdminEndpoint | undefined {
  if (!isDataDirInUse(dataDir)) return undefined;
  try {
    const { host, port, instance } = JSON.parse(readFileSync(fileOf(dataDir), 'utf8'));
    return { host: String(host), port: Number(port), instance: String(instance) };
  } catch {
    return undefined; // it starts or stops, or is one of a version that does not write it
  }
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'admin.json');
}
