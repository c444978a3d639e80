import { SourceError } from '../contract/source.ts';

/** Time between the first refusal of a login's refresh token and the second try, in ms. */
export const REFUSED_WAIT_MS = 180_000;

/**
 * Returns the wait before the second try, in ms; 0 if the try is due or the login was not refused. If the clock was set back, so that the
 * refusal lies in the future, the wait is never longer than `REFUSED_WAIT_MS`.
 */
export function waitAfterRefusalMs(refusedAt: Date | undefined, now: Date): number {
  if (refusedAt === undefined) return 0;
  const passedMs = now.getTime() - refusedAt.getTime();
  return Math.abs(passedMs) >= REFUSED_WAIT_MS ? 0 : REFUSED_WAIT_MS - Math.max(0, passedMs);
}

/**
 * Returns the error for a poll in which the service refuses a login's refresh token for the first time, or that runs before the second try.
 */
export function loginRefused(source: string, retryAfterMs: number, cause?: unknown): SourceError {
  const minutes = REFUSED_WAIT_MS / 60_000;
  const what = `The service refused to renew the login of source ${source} (invalid_grant)`;
  const message = `${what}. That may be temporary: leadsync keeps the login and asks the service again after ${minutes} minutes. A second refusal ends the login.`;
  const hint = `If the login was revoked, do not wait: run \`leadsync login ${source}\`.`;
  return new SourceError('login-refused', message, { hint, retryAfterMs, cause });
}
