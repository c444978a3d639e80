import type { Token, TokenOrigin } from './token.ts';

/** The content of a token file. */
export type StoredToken =
  | { readonly kind: 'token'; readonly token: Token }
  | { readonly kind: 'none' }
  /** The file holds no token that this configuration can use. `origin` is undefined if the file could not be read. */
  | { readonly kind: 'unusable'; readonly reason: string; readonly origin: TokenOrigin | undefined };

/** Returns the grant that the stored token originates from; undefined if there is no token or its grant cannot be read. */
export function originOf(stored: StoredToken): TokenOrigin | undefined {
  if (stored.kind === 'none') return undefined;
  return stored.kind === 'token' ? stored.token.origin : stored.origin;
}

/** Returns the stored access token; undefined if there is none that this configuration can use. */
export function accessTokenIn(stored: StoredToken): string | undefined {
  return stored.kind === 'token' ? stored.token.accessToken : undefined;
}

/**
 * Whether a token should replace what is stored: yes if no usable token is stored, or if a login's token would replace the client's own.
 */
export function isBetter(token: Token, stored: StoredToken): boolean {
  if (stored.kind !== 'token') return true;
  return token.origin === 'authorization_code' && stored.token.origin === 'client_credentials';
}

/** Whether `token` was received after `other`. A login's token always counts as newer than the client's own. */
export function isNewer(token: Token, other: Token): boolean {
  if (token.origin !== other.origin) return token.origin === 'authorization_code';
  return token.receivedAt.getTime() > other.receivedAt.getTime();
}
