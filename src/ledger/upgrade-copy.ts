import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type Database from 'better-sqlite3';

/** Room that must be free, in times of the ledger's size: for the copy, and for what the upgrade writes. */
const ROOM_TIMES = 2;

/** What became of the copy that is made before an upgrade: its path, or why there is none. */
export type UpgradeCopy = { readonly path: string } | { readonly skipped: string };

/**
 * Copies the ledger beside itself before it is upgraded to a schema, so that the earlier leadsync can be installed again.
 * Replaces the copy of an earlier upgrade. Never throws: a copy that cannot be made does not keep the new version from starting.
 */
export function copyBeforeUpgrade(db: Database.Database, schema: number): UpgradeCopy {
  const path = `${db.name}.before-schema-${schema}`;
  const part = `${path}.part`;
  try {
    removeUpgradeCopies(db.name);
    if (!hasRoom(db.name)) return { skipped: 'the disk has too little room' };
    closeSync(openSync(part, 'w', 0o600)); // SQLite writes into an empty file, and keeps its mode
    db.prepare('VACUUM INTO ?').run(part);
    chmodSync(part, 0o600);
    renameSync(part, path);
    return { path };
  } catch (error) {
    if (statSync(part, { throwIfNoEntry: false })?.isFile()) rmSync(part);
    return { skipped: String((error as { code?: unknown }).code ?? 'it failed') };
  }
}

/** Removes the copies that upgrades have left: they hold what is erased from the ledger. */
export function removeUpgradeCopies(file: string): void {
  const folder = dirname(file);
  for (const name of readdirSync(folder))
    if (name.startsWith(`${basename(file)}.before-schema-`)) rmSync(join(folder, name), { force: true });
}

function hasRoom(file: string): boolean {
  const { blocks, bavail, bsize } = statfsSync(file);
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  // A file system that counts no blocks does not say how much room it has.
  return blocks === 0 || bavail * bsize > ROOM_TIMES * (statSync(file).size + log);
}
