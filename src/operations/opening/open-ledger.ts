import { join } from 'node:path';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { DEFAULT_RETRY } from '../../config/options/sink-options.ts';
import { judgeBy } from '../../delivery/judge.ts';
import type { SinkPolicy } from '../../delivery/retry-policy.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { PageReader } from '../../ledger/contract/ledger-pages.ts';
import { QueryThread } from '../../ledger/queries/start-query-thread.ts';
import { openLedger } from '../../ledger/sqlite-ledger.ts';
import { type DiskFailure, diskFailure } from '../../platform/failures/disk-failure.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { makeFolderSync } from '../../platform/files/file-system.ts';
import { acquireLock, isLocked, LockHeld } from '../../platform/files/lock.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';

/** Another leadsync holds the data directory. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse';
  readonly hint =
    'Stop the other one first, or give this one a data_dir of its own. To deliver with more processes, start `leadsync worker`.';
}

/** The data directory cannot be created or used. */
export class DataDirUnusable extends Error {
  override readonly name = 'DataDirUnusable';
  /** The next step for the operator. */
  readonly hint: string;

  /** @param what the folder or file: `The data directory /data`; `special`: meaning of some error codes for this caller */
  constructor(what: string, cause: unknown, special: Readonly<Record<string, DiskFailure>> = {}) {
    const failure = diskFailure(cause, special) ?? { what: `cannot be used (${codeOf(cause)})`, hint: HINT };
    super(`${what} ${failure.what}.`, { cause });
    this.hint = failure.hint;
  }
}

const HINT =
  'Make sure that the folder exists or can be created, and belongs to the user that leadsync runs as.';

const NO_PERMISSION: DiskFailure = {
  what: 'cannot be opened by this user',
  hint: 'Run this command as the user that leadsync runs as, or as root.',
};
/** Meaning of error codes for a command that only checks the lock and writes nothing. */
const WHEN_CHECKING = {
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  SQLITE_CANTOPEN: NO_PERMISSION,
};

/** Maximum wait for the lock, in ms. A process that only checks the lock holds it for less time than this. */
const LOCK_WAIT_MS = 250;

/** Returns the path of the ledger in a data directory. */
export function ledgerFile(dataDir: string): string {
  return join(dataDir, 'ledger.db');
}

/**
 * Creates the data directory if it is missing, and locks it for this process until `release` is called.
 * @throws DataDirInUse, DataDirUnusable
 */
export function holdDataDir(dataDir: string): { release(): void } {
  try {
    makeFolderSync(dataDir, 0o700);
    return acquireLock(lockFile(dataDir), LOCK_WAIT_MS);
  } catch (error) {
    if (error instanceof LockHeld)
      throw new DataDirInUse(`Another leadsync holds the data directory ${dataDir}.`);
    throw unusable(dataDir, error);
  }
}

/** Whether a `run` or `sync` process holds the data directory now. Does not lock it. @throws DataDirUnusable */
export function isDataDirInUse(dataDir: string): boolean {
  try {
    return isLocked(lockFile(dataDir));
  } catch (error) {
    throw unusable(dataDir, error, WHEN_CHECKING);
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

/** Options for opening a ledger that are not in the configuration. */
export interface LedgerParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether to create a missing ledger; otherwise a missing ledger is an error. */
  readonly create: boolean;
  /** Name under which the ledger records the leases of this process. Absent: this process makes no attempts. */
  readonly holder?: string;
  /** Returns the current sinks with their policies. Absent: those of the configuration. */
  readonly sinks?: () => LedgerConfig['sinks'];
}

/** The part of a sink's configuration that the ledger uses. */
export type JudgedSink = Pick<LedgerConfig['sinks'][number], 'name' | 'retry' | 'breaker'>;

/** The policies of sinks, by name. */
export type SinkPolicies = ReadonlyMap<string, SinkPolicy>;

/** Returns the policies of these sinks. */
export function sinkPolicies(sinks: readonly JudgedSink[]): SinkPolicies {
  return new Map(sinks.map((sink) => [sink.name, policyOf(sink)]));
}

function policyOf({ retry, breaker }: JudgedSink): SinkPolicy {
  return { ...retry, breaker };
}

/** Opens the ledger of a configuration in this thread, with the policies of its sinks. @throws LedgerError */
export async function openConfiguredLedger(config: LedgerConfig, parts: LedgerParts): Promise<Ledger> {
  const sinks = parts.sinks ?? (() => config.sinks);
  const policyNamed = (name: string) => {
    const sink = sinks().find((one) => one.name === name);
    return sink ? policyOf(sink) : DEFAULT_RETRY;
  };
  return openLedger({
    ...parts,
    file: ledgerFile(config.dataDir),
    judge: judgeBy(policyNamed, parts.random),
    compilesLate: true,
  });
}

/** Opens a reader for the pages and the API. Reports damage that a query finds to `ledger`. */
export function openPageReader(dataDir: string, ledger: Pick<Ledger, 'reportDamage'>): PageReader {
  return new QueryThread(ledgerFile(dataDir), { onDamage: (damage) => ledger.reportDamage(damage) });
}
