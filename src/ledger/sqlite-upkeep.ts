import type Database from 'better-sqlite3';
import { collectGarbage } from '../platform/process/memory.ts';
import type { Opening } from './contract/ledger-upkeep.ts';
import { writeMark } from './database/high-water-mark.ts';
import type { LedgerAccess } from './database/ledger-access.ts';
import { fileIdentity, scrub } from './database/ledger-file.ts';
import type { LedgerEngine } from './engine.ts';
import { removeUpgradeCopies, removeUpgradeCopiesBefore } from './schema/upgrade-copy.ts';

/** Returns the SQLite implementation of the upkeep methods of `LedgerEngine`. */
export function upkeepOf(db: Database.Database, access: LedgerAccess, opening: Opening) {
  // While a connection is open, SQLite never replaces the write-ahead log with a new file.
  const filesNow = () => [db.name, `${db.name}-wal`].map(fileIdentity).join(' ');
  const opened = filesNow();
  const readId = () => String(db.prepare('SELECT id FROM _ledger').pluck().get());
  // The data version changes when another connection commits (https://www.sqlite.org/pragma.html#pragma_data_version).
  const readDataVersion = () => db.pragma('data_version', { simple: true });
  const id = readId();
  let dataVersion = readDataVersion();
  return {
    id,
    opening,
    failing: () => access.failing(),
    reportDamage: (damage) => access.reportDamage(damage),

    isReplaced: () => access.guard(async () => filesNow() !== opened || readId() !== id),

    changedElsewhere: () =>
      access.guard(async () => {
        const before = dataVersion;
        dataVersion = readDataVersion();
        return dataVersion !== before;
      }),

    checkpointLog: () =>
      access.guard(async () => {
        const [state] = db.pragma('wal_checkpoint(PASSIVE)') as [{ log: number; checkpointed: number }];
        const pageBytes = Number(db.pragma('page_size', { simple: true }));
        return {
          logBytes: Math.max(0, state.log) * pageBytes,
          pinnedBytes: Math.max(0, state.log - state.checkpointed) * pageBytes,
        };
      }),

    releaseMemory: () =>
      access.guard(async () => {
        db.pragma('shrink_memory');
        await collectGarbage();
      }),

    recordProgress: () => writeMark(db),

    scrub: () =>
      access.guard(async () => {
        removeUpgradeCopies(db.name);
        return scrub(db);
      }),

    removeUpgradeCopies: (before) => access.guard(async () => removeUpgradeCopiesBefore(db.name, before)),
  } satisfies Partial<LedgerEngine>;
}
