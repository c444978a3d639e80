import type { LedgerConfig } from '../config/contract/config.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import { inspectFile } from '../ledger/database/inspect-file.ts';
import { recoveredFile, removeLedger } from '../ledger/database/leftover-files.ts';
import type { Recovered } from '../ledger/recovery/build-recovered.ts';
import { exchangeLedger, stateOf } from '../ledger/recovery/replace-ledger.ts';
import { runBuild } from '../ledger/recovery/start-build-process.ts';
import { printStamp } from '../platform/text/human-readable.ts';
import type { Clock } from '../platform/time/clock.ts';
import { isLedgerMissing } from './opening/new-ledger.ts';
import { DataDirInUse, holdDataDir } from './opening/open-ledger.ts';
import { hasLiveProcess } from './opening/processes.ts';
import { requireLedgerFile } from './opening/require-ledger-file.ts';

/** Result of a recovery. */
export interface Recovery {
  readonly file: string;
  /** Damage that SQLite found in the file. Undefined if it found none. */
  readonly damage: LedgerError | undefined;
  readonly recovered: Recovered;
  /** Path to which the damaged ledger was moved. Undefined if it was left in its place. */
  readonly aside: string | undefined;
}

/** What `recoverLedger` works with. `signal` stops the recovery; `onCopied` receives the number of rows of each table copied so far. */
export interface RecoveryParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onCopied?: (table: string, rows: number) => void;
}

/** Whether the ledger is undamaged and needs no recovery. */
export function isUndamaged({ damage, recovered }: Recovery): boolean {
  return damage === undefined && recovered.whole;
}

/**
 * Builds a new ledger from the readable parts of the ledger. If `exchange` is true and the ledger is damaged, moves the old ledger aside
 * and puts the new one in its place. Otherwise, or once the signal has aborted, discards the new ledger and leaves the old one as it is. No
 * other leadsync process may be running on the data directory, not even a worker.
 * @throws NoLedgerFile, DataDirInUse, DataDirUnusable, LedgerError, or the signal's reason
 */
export async function recoverLedger(
  config: Pick<LedgerConfig, 'dataDir' | 'ledgerServer'>,
  { clock, signal, onCopied }: RecoveryParts,
  exchange: boolean,
): Promise<Recovery> {
  const { dataDir } = config;
  const file = requireLedgerFile(
    config,
    'Check the database with the tools of its server, such as pg_amcheck, and restore it from a backup if it is damaged.',
  );
  requireLedger(dataDir, file);
  const target = recoveredFile(file);
  const held = holdDataDir(dataDir);
  try {
    requireNoWorker(dataDir);
    const damage = await inspectFile(file, 'whole', signal);
    signal.throwIfAborted();
    if (damage && damage.code !== 'damaged') throw damage; // a ledger that could not be inspected may be undamaged
    const now = clock.now();
    const read = stateOf(file);
    const recovered = await runBuild(file, target, now, onCopied ? { signal, onCopied } : { signal });
    const found = { file, damage, recovered, aside: undefined };
    if (!exchange || isUndamaged(found)) return found;
    const aside = `${file}.damaged-${printStamp(now)}`;
    requireNoWorker(dataDir); // again: building takes minutes, and a worker may have started in the meantime
    exchangeLedger(file, target, aside, read);
    return { ...found, aside };
  } finally {
    removeLedger(target); // the new ledger, unless it was exchanged: it contains personal data that `erase` would not find
    held.release();
  }
}

function requireNoWorker(dataDir: string): void {
  if (hasLiveProcess(dataDir)) throw new DataDirInUse(`A worker uses the data directory ${dataDir}.`);
}

function requireLedger(dataDir: string, file: string): void {
  if (!isLedgerMissing(dataDir)) return;
  throw new LedgerError(
    'missing',
    `There is nothing to recover: ${file} is missing or empty.`,
    'Check data_dir. If the ledger was removed or truncated, restore it from a backup. Without a backup, `leadsync ledger accept` creates a new ledger, and every listed lead goes to every sink again.',
  );
}
