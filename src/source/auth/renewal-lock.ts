import { codeOf } from '../../platform/failures/error-code.ts';
import { acquireLock, LockHeld } from '../../platform/files/lock.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { SourceError } from '../contract/source.ts';

/** The wait between two looks at a lock that another process holds, in ms; with jitter of the same length. */
const LOOK_EVERY_MS = 50;

/** The lock of one source's token: the file at `path`, the same for all processes on a data directory. */
export interface RenewalLockParts {
  readonly source: string;
  readonly path: string;
  /** How long another process may take, in ms. */
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Runs `renew` while no other process on this data directory can; the process before may have just renewed. While another
 * does, `look` is called now and then: what it finds ends the wait. The lock of a process that died is free.
 * @throws SourceError `token-file` when another process holds the lock for too long; what `look` and `renew` throw
 */
export async function withRenewalLock<T>(
  { source, path, patienceMs, clock, random }: RenewalLockParts,
  look: () => Promise<T | undefined>,
  renew: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const startMs = clock.monotonicMs();
  for (;;) {
    signal.throwIfAborted();
    const lock = tryLock(path, source);
    if (lock !== undefined) {
      try {
        return await renew();
      } finally {
        lock.release();
      }
    }
    const found = await look();
    if (found !== undefined) return found;
    if (clock.monotonicMs() - startMs > patienceMs) throw heldTooLong(source, path);
    await clock.sleep(LOOK_EVERY_MS * (1 + random()), signal);
  }
}

function tryLock(path: string, source: string): { release(): void } | undefined {
  try {
    return acquireLock(path);
  } catch (error) {
    if (error instanceof LockHeld) return undefined;
    const code = codeOf(error) ?? 'unknown error';
    throw new SourceError(
      'token-file',
      `The token lock of source ${source} cannot be taken (${code}): ${path}.`,
      {
        hint: 'See that data_dir belongs to the user that leadsync runs as and has room.',
        cause: error,
      },
    );
  }
}

function heldTooLong(source: string, path: string): SourceError {
  return new SourceError(
    'token-file',
    `Another leadsync has been renewing the token of source ${source} for too long: it holds ${path}.`,
    { hint: 'See what the other leadsync on this data_dir is doing; ending it frees the lock.' },
  );
}
