import type { Clock } from '../../platform/time/clock.ts';
import type { SourceError } from '../contract/source.ts';
import { loginRefused, REFUSED_WAIT_MS, waitAfterRefusalMs } from './login-refusal.ts';
import { originOf, type StoredToken } from './stored-token.ts';
import type { Token } from './token.ts';
import type { TokenEndpoint } from './token-endpoint.ts';
import {
  GrantRefused,
  loginMaybeRevoked,
  loginNeeded,
  loginUnusable,
  refusesToken,
} from './token-refusal.ts';
import type { TokenStore } from './token-store.ts';

interface LoginParts {
  readonly source: string;
  readonly endpoint: TokenEndpoint;
  readonly store: TokenStore;
  readonly clock: Clock;
  /** Whether to leave the stored token unchanged, and to ignore a wait. */
  readonly trial: boolean;
}

/**
 * Renews a login's tokens. Never replaces them with the client's own: as the client itself, leadsync might read a different or an empty listing
 * without any error. @throws SourceError `login-needed` if a person must log in
 */
export async function refreshLogin(parts: LoginParts, stored: StoredToken): Promise<Token> {
  const { source, endpoint, store, clock, trial } = parts;
  if (originOf(stored) === 'client_credentials' || stored.kind === 'none')
    throw loginNeeded(source, `No one has logged in to source ${source}.`);
  if (stored.kind === 'unusable') throw loginUnusable(source, stored.reason);
  const { refreshToken, origin } = stored.token;
  if (refreshToken === undefined)
    throw loginNeeded(
      source,
      `The login of source ${source} has ended: there is no refresh token to renew it.`,
    );
  const waitMs = waitAfterRefusalMs(stored.token.refusedAt, clock.now());
  if (waitMs > 0 && !trial) throw loginRefused(source, waitMs);
  store.requireRight();
  try {
    return await endpoint.refresh(refreshToken, origin);
  } catch (error) {
    if (!refusesToken(error)) throw error;
    if (!(error instanceof GrantRefused) || error.oauthError !== 'invalid_grant')
      throw loginMaybeRevoked(source, error);
    throw await refusedLogin(parts, { token: stored.token, waitMs }, error);
  }
}

/**
 * Records that the service refused a login's refresh token, and returns the error. Ends the login at the second refusal. The first does not end it,
 * because services sometimes refuse a valid token, during a fail-over or while a replica is behind.
 * `waitMs` is the remaining wait after the first refusal.
 */
async function refusedLogin(
  { source, store, clock, trial }: LoginParts,
  { token, waitMs }: { readonly token: Token; readonly waitMs: number },
  cause: GrantRefused,
): Promise<SourceError> {
  if (token.refusedAt === undefined || waitMs > 0) {
    if (!trial) await store.write({ ...token, refusedAt: clock.now() });
    return loginRefused(source, REFUSED_WAIT_MS, cause);
  }
  // Otherwise every poll would send the refresh token again and be refused.
  if (!trial) await store.write({ ...token, refreshToken: undefined, refusedAt: undefined });
  const why = `The login of source ${source} has ended: the service has refused its refresh token twice (invalid_grant).`;
  return loginNeeded(source, why, cause);
}
