import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import { giveToFolderOwner } from '../../platform/files/folder-owner.ts';
import type { UpgradeCopy } from '../contract/ledger-upkeep.ts';

/** Space that must be free, as a multiple of the ledger's size: one half for the copy, the other for what the upgrade writes. */
const SPACE_FACTOR = 2;
/** The suffix of a copy's name until the copy is complete. */
const PART = '.part';

/**
 * Copies the ledger before an upgrade to the schema with this number, so that the operator can return to the earlier leadsync. The copy is in
 * the ledger's folder. Removes the copies from earlier upgrades once the new copy is complete. Does not throw if the copy fails, so that the
 * new version starts anyway.
 */
export function copyBeforeUpgrade(db: Database.Database, schema: number): UpgradeCopy {
  const path = `${db.name}.before-schema-${schema}`;
  const part = `${path}${PART}`;
  try {
    removeCopies(db.name, (name) => name.endsWith(PART));
    if (!hasSpace(db.name)) return { skipped: 'the disk has too little space' };
    writeCopy(db, part);
    renameSync(part, path);
    removeCopies(db.name, (name) => name !== basename(path));
    return { path };
  } catch (error) {
    if (statSync(part, { throwIfNoEntry: false })?.isFile()) rmSync(part);
    return { skipped: String((error as { code?: unknown }).code ?? 'it failed') };
  }
}

/** Removes the copies that upgrades left. They may contain personal data that has since been erased from the ledger. */
export function removeUpgradeCopies(file: string): void {
  removeCopies(file, () => true);
}

/** Removes the copies whose files were last modified before a time. */
export function removeUpgradeCopiesBefore(file: string, before: Date): void {
  const folder = dirname(file);
  removeCopies(file, (name) => {
    const copy = statSync(join(folder, name), { throwIfNoEntry: false }); // undefined if an erasure removes the copy at the same time
    return copy !== undefined && copy.mtime < before;
  });
}

/** Writes a copy that only the owner of its folder can read if this process runs as root, otherwise only this user, and that survives a power cut. */
function writeCopy(db: Database.Database, path: string): void {
  const file = openSync(path, 'w', 0o600); // SQLite accepts an existing file if it is empty, and keeps the mode of the file
  try {
    db.prepare('VACUUM INTO ?').run(path);
    chmodSync(path, 0o600);
    giveToFolderOwner(file, path);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function removeCopies(file: string, isOutdated: (name: string) => boolean): void {
  const folder = dirname(file);
  const start = `${basename(file)}.before-schema-`;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isFile() && entry.name.startsWith(start) && isOutdated(entry.name))
      rmSync(join(folder, entry.name), { force: true });
}

function hasSpace(file: string): boolean {
  const { blocks, bavail, bsize } = statfsSync(file);
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  // A file system that reports no blocks does not say how much space it has.
  return blocks === 0 || bavail * bsize > SPACE_FACTOR * (statSync(file).size + log);
}
