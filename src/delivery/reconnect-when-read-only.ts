import { redisCodeOf } from './redis-failure.ts';

/** Minimum time between two reconnects that `reconnectWhenReadOnly` requests, in ms. */
const RECONNECT_AGAIN_MS = 500;

/**
 * Returns a function that decides whether ioredis reconnects after an error: after a fail-over, the host name may point to another server
 * (https://github.com/redis/ioredis#reconnect-on-error). The function requests a reconnect at most every `RECONNECT_AGAIN_MS`: otherwise
 * each reply in the pipeline would request one, and add a listener to the closing socket until Node.js warns of a leak on standard error.
 */
export function reconnectWhenReadOnly(monotonicMs: () => number): (error: Error) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (redisCodeOf(error) !== 'READONLY' || monotonicMs() - lastMs < RECONNECT_AGAIN_MS) return false;
    lastMs = monotonicMs();
    return true;
  };
}
