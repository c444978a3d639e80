import { existsSync } from 'node:fs';
import type { Config } from '../../config/contract/config.ts';
import { isBlank } from '../../ledger/database/inspect-file.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { tracesOf } from './installation-traces.ts';
import { ledgerFile } from './open-ledger.ts';

/** How long to wait before the places that did not answer are asked again, in ms. */
const RETRY_MS = 1_000;

/** There is no ledger, and a new one would bring every lead to every sink again. */
export class NewLedgerRefused extends Error {
  override readonly name = 'NewLedgerRefused';
  readonly hint =
    'If data_dir is not mounted, mount it. If ledger.db was removed or cut off, restore it from a backup. Then start again. If a new ledger is meant, `leadsync ledger accept` makes it.';
}

/** There is no ledger, and a place that would show whether there was one did not answer in time. */
export class InstallationUnknown extends Error {
  override readonly name = 'InstallationUnknown';
  readonly hint: string;

  constructor(
    message: string,
    hint = 'Start what does not answer, or correct its address, and start leadsync again. If this is a new installation, stop leadsync and make its ledger with `leadsync ledger accept`.',
  ) {
    super(message);
    this.hint = hint;
  }
}

/** leadsync was asked to stop before it had started. */
export class StoppedBeforeStart extends Error {
  override readonly name = 'StoppedBeforeStart';
  readonly hint = '';
}

/** Whether there is no ledger yet: no file, or one that holds nothing. @throws LedgerError when it is no file, or nobody may know */
export function lacksLedger(dataDir: string): boolean {
  return isBlank(ledgerFile(dataDir));
}

/** How the places that could tell are waited for. */
export interface WaitOptions {
  readonly clock: Clock;
  /** Ends the wait. */
  readonly stop: AbortSignal;
  /** How long to wait for all of them, in ms. */
  readonly patienceMs: number;
  /** Is told, before each wait, who has not answered. */
  readonly onWait: (unanswered: readonly string[]) => Promise<void>;
}

/**
 * Makes sure that a missing ledger may be made: `ledger.create` says so, or every place that could show an earlier one was asked and
 * shows none. Asks those that do not answer again until they do. Only for the process that holds the data directory.
 * @throws NewLedgerRefused, InstallationUnknown, StoppedBeforeStart
 */
export async function requireNewInstallation(config: Config, waiting: WaitOptions): Promise<void> {
  const { dataDir, ledgerCreate } = config;
  if (!lacksLedger(dataDir) || ledgerCreate === 'always') return;
  const missing = `There is no ledger in ${dataDir}${existsSync(ledgerFile(dataDir)) ? ': ledger.db is empty' : ''}`;
  if (ledgerCreate === 'never') throw new NewLedgerRefused(`${missing}, and \`ledger.create\` is never.`);
  const found = await findTraces(config, missing, waiting);
  if (found.length === 0) return;
  throw new NewLedgerRefused(
    `${missing}, but this installation is not new: ${found.join('; ')}. With a new ledger every listed lead would go to every sink again.`,
  );
}

/** Returns what was found as soon as one place shows a trace; nothing when all of them have answered. */
async function findTraces(
  config: Config,
  missing: string,
  { clock, stop, patienceMs, onWait }: WaitOptions,
): Promise<readonly string[]> {
  const sinceMs = clock.monotonicMs();
  for (;;) {
    const { found, unanswered } = await tracesOf(config, clock, stop);
    if (stop.aborted) throw new StoppedBeforeStart('leadsync was stopped before it started.');
    if (found.length > 0 || unanswered.length === 0) return found;
    if (clock.monotonicMs() - sinceMs >= patienceMs)
      throw new InstallationUnknown(
        `${missing}, and whether there was one could not be found out: ${unanswered.join(' ')}`,
      );
    await onWait(unanswered);
    await clock.sleep(RETRY_MS, stop);
    requireStillMissing(config.dataDir);
  }
}

/** A volume that is mounted meanwhile has a lock of its own, which this process does not hold. */
function requireStillMissing(dataDir: string): void {
  if (lacksLedger(dataDir)) return;
  throw new InstallationUnknown(
    `A ledger appeared in ${dataDir} while leadsync waited to start.`,
    'Start leadsync again: it will use that ledger.',
  );
}
