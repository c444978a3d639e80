import { SourceError } from '../contract/source.ts';

/** How long after the first refusal of a login's refresh token the service is asked once more, in ms. */
export const REFUSED_WAIT_MS = 180_000;

/**
 * Returns how long to wait before asking once more, in ms; 0: now. Where the clock was set back, a refusal that lies further ahead than
 * the wait does not lengthen it.
 */
export function waitAfterRefusalMs(refusedAt: Date | undefined, now: Date): number {
  if (refusedAt === undefined) return 0;
  const passedMs = now.getTime() - refusedAt.getTime();
  return Math.abs(passedMs) >= REFUSED_WAIT_MS ? 0 : REFUSED_WAIT_MS - passedMs;
}

/** Returns the error of a poll between the two refusals that end a login. */
export function loginRefused(source: string, retryAfterMs: number, cause?: unknown): SourceError {
  const minutes = REFUSED_WAIT_MS / 60_000;
  const what = `The service refused to renew the login of source ${source} (invalid_grant)`;
  const message = `${what}. That can be a passing fault, so the login is kept, and the service is asked once more after ${minutes} minutes.`;
  const hint = `A second refusal ends the login. If it was revoked, do not wait: run \`leadsync login ${source}\`.`;
  return new SourceError('login-refused', message, { hint, retryAfterMs, cause });
}
