import type { Clock, Random } from '../../platform/time/clock.ts';
import { SourceError } from '../contract/source.ts';
import type { TokenStore } from './token-store.ts';

/** Minimum interval at which a waiting process checks the lock, in ms. Random jitter adds up to the same again. */
const LOOK_EVERY_MS = 50;

/** The right to renew one source's token, and how to wait for it. */
export interface RenewalLockParts {
  readonly source: string;
  readonly store: Pick<TokenStore, 'tryLock' | 'lockPlace'>;
  /** Maximum time to wait for another process, in ms. */
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Runs `renew` under a lock that excludes all other processes of this installation. While another process holds the lock, calls `look` at
 * intervals and returns the first token that it finds. The lock of a dead process counts as free. `renew` must check the stored token first, because
 * the previous holder of the lock may have renewed it. @throws SourceError `token-file` if another process holds the lock for too long; also throws
 * what `look` and `renew` throw
 */
export async function withRenewalLock<T>(
  { source, store, patienceMs, clock, random }: RenewalLockParts,
  look: () => Promise<T | undefined>,
  renew: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const startMs = clock.monotonicMs();
  for (;;) {
    signal.throwIfAborted();
    const lock = await store.tryLock();
    if (lock !== undefined) {
      try {
        return await renew();
      } finally {
        await lock.release();
      }
    }
    const found = await look();
    if (found !== undefined) return found;
    if (clock.monotonicMs() - startMs > patienceMs) throw heldTooLong(source, store.lockPlace);
    await clock.sleep(LOOK_EVERY_MS * (1 + random()), signal);
  }
}

function heldTooLong(source: string, place: string): SourceError {
  return new SourceError(
    'token-file',
    `Another leadsync has been renewing the token of source ${source} for too long: it holds ${place}.`,
    {
      hint: 'Check what the other leadsync is doing. The lock is free when that process ends.',
    },
  );
}
