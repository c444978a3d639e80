import { join } from 'node:path';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { DEFAULT_RETRY } from '../../config/options/sink-options.ts';
import { judgeBy } from '../../delivery/judge.ts';
import type { RetryPolicy } from '../../delivery/retry-policy.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { openLedger } from '../../ledger/sqlite-ledger.ts';
import { type DiskFailure, diskFailure } from '../../platform/failures/disk-failure.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { makeFolderSync } from '../../platform/files/files.ts';
import { acquireLock, isLocked, LockHeld } from '../../platform/files/lock.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';

/** Another leadsync holds the data directory. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse';
  readonly hint =
    'Stop the other one first, or give this one a data_dir of its own. To deliver with more processes, start `leadsync worker`.';
}

/** The data directory cannot be made or used. */
export class DataDirUnusable extends Error {
  override readonly name = 'DataDirUnusable';
  /** What to do next. */
  readonly hint: string;

  /** @param what the folder or file: `The data directory /data`; `special`: what some codes mean here */
  constructor(what: string, cause: unknown, special: Readonly<Record<string, DiskFailure>> = {}) {
    const failure = diskFailure(cause, special) ?? { what: `cannot be used (${codeOf(cause)})`, hint: HINT };
    super(`${what} ${failure.what}.`, { cause });
    this.hint = failure.hint;
  }
}

const HINT =
  'Make sure that the folder exists or can be made, and belongs to the user that leadsync runs as.';

const NOT_FOR_THIS_USER: DiskFailure = {
  what: 'is not open to this user',
  hint: 'Run this as the user that leadsync runs as, or as root.',
};
/** What the codes mean to a command that only looks: it writes nothing. */
const WHEN_LOOKING = {
  EACCES: NOT_FOR_THIS_USER,
  EPERM: NOT_FOR_THIS_USER,
  SQLITE_CANTOPEN: NOT_FOR_THIS_USER,
};

/** Somebody who looks whether the lock is held keeps it from being taken for a moment, which this outlasts, in ms. */
const LOOK_MS = 250;

/** Where the ledger of a data directory is. */
export function ledgerFile(dataDir: string): string {
  return join(dataDir, 'ledger.db');
}

/**
 * Makes the data directory where it is missing, and takes it for this process alone until the release.
 * @throws DataDirInUse, DataDirUnusable
 */
export function holdDataDir(dataDir: string): { release(): void } {
  try {
    makeFolderSync(dataDir, 0o700);
    return acquireLock(lockFile(dataDir), LOOK_MS);
  } catch (error) {
    if (error instanceof LockHeld)
      throw new DataDirInUse(`Another leadsync holds the data directory ${dataDir}.`);
    throw unusable(dataDir, error);
  }
}

/** Whether a leadsync (`run` or `sync`) holds the data directory at this moment. Takes nothing. @throws DataDirUnusable */
export function isDataDirInUse(dataDir: string): boolean {
  try {
    return isLocked(lockFile(dataDir));
  } catch (error) {
    throw unusable(dataDir, error, WHEN_LOOKING);
  }
}

function lockFile(dataDir: string): string {
  return join(dataDir, 'lock');
}

function unusable(
  dataDir: string,
  cause: unknown,
  special?: Readonly<Record<string, DiskFailure>>,
): DataDirUnusable {
  return new DataDirUnusable(`The data directory ${dataDir}`, cause, special);
}

/** What a process opens its ledger with, beside what the configuration says. */
export interface LedgerParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether a missing ledger is made, or an error. */
  readonly create: boolean;
  /** Names this process among those that attempt. Absent: it attempts nothing. */
  readonly holder?: string;
  /** The sinks at this moment, whose retry policies count. Absent: those of the configuration. */
  readonly sinks?: () => LedgerConfig['sinks'];
}

/** A sink, as far as its ledger goes by its configuration. */
export type RetriedSink = Pick<LedgerConfig['sinks'][number], 'name' | 'retry'>;

/** When failed deliveries of each sink are tried again, by the sink's name. */
export type RetryPolicies = ReadonlyMap<string, RetryPolicy>;

/** The retry policies of these sinks. */
export function retryPolicies(sinks: readonly RetriedSink[]): RetryPolicies {
  return new Map(sinks.map(({ name, retry }) => [name, retry]));
}

/** Opens the ledger of a configuration in this thread, with the retry policies of its sinks. @throws LedgerError */
export function openConfiguredLedger(config: LedgerConfig, parts: LedgerParts): Ledger {
  const sinks = parts.sinks ?? (() => config.sinks);
  const policyOf = (name: string) => sinks().find((sink) => sink.name === name)?.retry ?? DEFAULT_RETRY;
  return openLedger({ ...parts, file: ledgerFile(config.dataDir), judge: judgeBy(policyOf, parts.random) });
}
