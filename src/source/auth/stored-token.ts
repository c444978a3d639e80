import type { Token, TokenOrigin } from './token.ts';

/** What was found in a file of tokens. */
export type StoredToken =
  | { readonly kind: 'token'; readonly token: Token }
  | { readonly kind: 'none' }
  /** There is a file, and no token in it that this configuration can use. `origin` is known when it could be read. */
  | { readonly kind: 'unusable'; readonly reason: string; readonly origin: TokenOrigin | undefined };

/** How the stored token was got, as far as it can be read. */
export function originOf(stored: StoredToken): TokenOrigin | undefined {
  if (stored.kind === 'none') return undefined;
  return stored.kind === 'token' ? stored.token.origin : stored.origin;
}

/** The access token in it; undefined when there is none that this configuration can use. */
export function accessTokenIn(stored: StoredToken): string | undefined {
  return stored.kind === 'token' ? stored.token.accessToken : undefined;
}

/** Whether a token should take the place of the stored one: a login is worth more than the client's own credentials. */
export function isBetter(token: Token, stored: StoredToken): boolean {
  if (stored.kind !== 'token') return true;
  return token.origin === 'authorization_code' && stored.token.origin === 'client_credentials';
}

/** Whether a token was received after the other; a login counts as newer than the client's own credentials. */
export function isNewer(token: Token, other: Token): boolean {
  if (token.origin !== other.origin) return token.origin === 'authorization_code';
  return token.receivedAt.getTime() > other.receivedAt.getTime();
}
