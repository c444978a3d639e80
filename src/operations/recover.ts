import type { LedgerConfig } from '../config/contract/config.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import { inspectFile } from '../ledger/database/inspect-file.ts';
import { recoveredFile, removeLedger } from '../ledger/database/leftovers.ts';
import type { Recovered } from '../ledger/recovery/build.ts';
import { exchangeLedger, stateOf } from '../ledger/recovery/exchange.ts';
import { runBuild } from '../ledger/recovery/run-build.ts';
import { printStamp } from '../platform/text/format.ts';
import type { Clock } from '../platform/time/clock.ts';
import { lacksLedger } from './opening/new-ledger.ts';
import { DataDirInUse, holdDataDir, ledgerFile } from './opening/open-ledger.ts';
import { hasLiveProcess } from './opening/reclaim-leases.ts';

/** What a recovery found, and did. */
export interface Recovery {
  readonly file: string;
  /** What SQLite says of the file; undefined when it finds nothing wrong. */
  readonly damage: LedgerError | undefined;
  readonly recovered: Recovered;
  /** Where the damaged ledger is now; undefined when it was left in its place. */
  readonly aside: string | undefined;
}

/** What a recovery needs of its surroundings. `signal` stops it; `onCopied` is told how many rows of each table were copied so far. */
export interface RecoveryParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onCopied?: (table: string, rows: number) => void;
}

/** Whether the ledger is sound: there is nothing to recover. */
export function isSound({ damage, recovered }: Recovery): boolean {
  return damage === undefined && recovered.whole;
}

/**
 * Makes a new ledger of what can be read of a damaged one and, if `exchange` says so, puts it in the place of the old one, which is kept.
 * Otherwise nothing is changed. Only while no leadsync and no worker runs.
 * Nothing is changed once the signal has aborted.
 * @throws DataDirInUse, DataDirUnusable, LedgerError, or the signal's reason
 */
export async function recoverLedger(
  { dataDir }: Pick<LedgerConfig, 'dataDir'>,
  { clock, signal, onCopied }: RecoveryParts,
  exchange: boolean,
): Promise<Recovery> {
  const file = ledgerFile(dataDir);
  requireLedger(dataDir, file);
  const target = recoveredFile(file);
  const held = holdDataDir(dataDir);
  try {
    requireNoWorker(dataDir);
    const damage = await inspectFile(file, 'whole', signal);
    signal.throwIfAborted();
    if (damage && damage.code !== 'damaged') throw damage; // a ledger that could not be looked at may be sound
    const now = clock.now();
    const read = stateOf(file);
    const recovered = await runBuild(file, target, now, onCopied ? { signal, onCopied } : { signal });
    const found = { file, damage, recovered, aside: undefined };
    if (!exchange || isSound(found)) return found;
    const aside = `${file}.damaged-${printStamp(now)}`;
    requireNoWorker(dataDir); // a large ledger takes minutes, and a worker needs no leadsync to start
    exchangeLedger(file, target, aside, read);
    return { ...found, aside };
  } finally {
    removeLedger(target); // where it was not put in place: it holds personal data that `erase` would not find
    held.release();
  }
}

function requireNoWorker(dataDir: string): void {
  if (hasLiveProcess(dataDir)) throw new DataDirInUse(`A worker uses the data directory ${dataDir}.`);
}

function requireLedger(dataDir: string, file: string): void {
  if (!lacksLedger(dataDir)) return;
  throw new LedgerError(
    'missing',
    `There is nothing to recover: ${file} is missing or empty.`,
    'Check data_dir. If the ledger was removed or cut off, restore it from a backup; without one, `leadsync ledger accept` makes a new ledger, and every listed lead goes out again.',
  );
}
