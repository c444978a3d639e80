import type { Config } from '../../config/contract/config.ts';
import { isBlank } from '../../ledger/database/inspect-file.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { ledgerPlaceOf } from './configured-ledger.ts';
import { tracesOf } from './installation-traces.ts';
import type { LedgerPlace } from './ledger-place.ts';
import { ledgerFile } from './open-ledger.ts';

/** Wait before all places are asked again, in ms. */
const RETRY_MS = 1_000;

/**
 * There is no ledger, and leadsync may not create one: `ledger.create` is `never`, or there are traces of an earlier ledger. With a new
 * ledger, every lead would go to every sink again.
 */
export class NewLedgerRefused extends Error {
  override readonly name = 'NewLedgerRefused';
  readonly hint: string;

  constructor(message: string, { whenLost }: Pick<LedgerPlace, 'whenLost'>) {
    super(message);
    this.hint = `${whenLost} To start with a new ledger instead, run \`leadsync ledger accept\`.`;
  }
}

/** There is no ledger, and a place that could show whether there was an earlier one did not answer in time. */
export class InstallationUnknown extends Error {
  override readonly name = 'InstallationUnknown';
  readonly hint: string;

  constructor(
    message: string,
    hint = 'Start the service that does not answer, or correct its address, then start leadsync again. If this is a new installation, stop leadsync and create its ledger with `leadsync ledger accept`.',
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

/** Whether there is no ledger yet: the file is missing or empty. @throws LedgerError if the path is not a file or cannot be inspected */
export function isLedgerMissing(dataDir: string): boolean {
  return isBlank(ledgerFile(dataDir));
}

/** Options for waiting for the places that could show an earlier ledger. */
export interface WaitOptions {
  readonly clock: Clock;
  /** Aborts the wait. */
  readonly stop: AbortSignal;
  /** Maximum time to wait for all places, in ms. */
  readonly patienceMs: number;
  /** Called before each wait with the places that have not answered. */
  readonly onWait: (unanswered: readonly string[]) => Promise<void>;
}

/**
 * Requires that leadsync may create a missing ledger: either `ledger.create` allows it, or every place that could show an earlier ledger
 * was searched and shows none. Asks the places repeatedly until one shows a trace, all have answered, or `patienceMs` has passed. The
 * process must hold the data directory.
 * @throws NewLedgerRefused, InstallationUnknown, StoppedBeforeStart
 */
export async function requireNewInstallation(config: Config, waiting: WaitOptions): Promise<void> {
  const { ledgerCreate } = config;
  const place = ledgerPlaceOf(config);
  if (!(await place.isMissing()) || ledgerCreate === 'always') return;
  const missing = `There is no ledger in ${place.where}${place.remains()}`;
  if (ledgerCreate === 'never')
    throw new NewLedgerRefused(`${missing}, and \`ledger.create\` is never.`, place);
  const found = await findTraces(config, { place, missing }, waiting);
  if (found.length === 0) return;
  throw new NewLedgerRefused(
    `${missing}, but this installation is not new: ${found.join('; ')}. With a new ledger every listed lead would go to every sink again.`,
    place,
  );
}

/**
 * Asks all places repeatedly until at least one shows a trace, all have answered, or `patienceMs` has passed. Returns the traces.
 * @throws InstallationUnknown, StoppedBeforeStart
 */
async function findTraces(
  config: Config,
  { place, missing }: { readonly place: LedgerPlace; readonly missing: string },
  { clock, stop, patienceMs, onWait }: WaitOptions,
): Promise<readonly string[]> {
  const sinceMs = clock.monotonicMs();
  for (;;) {
    const { found, unanswered } = await tracesOf(config, clock, stop);
    if (stop.aborted) throw new StoppedBeforeStart('leadsync was stopped before it started.');
    if (found.length > 0 || unanswered.length === 0) return found;
    if (clock.monotonicMs() - sinceMs >= patienceMs)
      throw new InstallationUnknown(
        `${missing}, and leadsync could not find out whether there was one: ${unanswered.join(' ')}`,
      );
    await onWait(unanswered);
    await clock.sleep(RETRY_MS, stop);
    await requireStillMissing(place);
  }
}

/**
 * Requires that the ledger is still missing. A volume that was mounted in the meantime has its own lock, which this process does not hold.
 */
async function requireStillMissing(place: LedgerPlace): Promise<void> {
  if (await place.isMissing()) return;
  throw new InstallationUnknown(
    `A ledger appeared in ${place.where} while leadsync waited to start.`,
    'Start leadsync again: it will use that ledger.',
  );
}
