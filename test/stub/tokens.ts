import { randomBytes, randomUUID } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';

export type Grant = 'authorization_code' | 'refresh_token' | 'client_credentials';

/** What happens to a used refresh token when a new one is issued (Doorkeeper has a setting for each). */
export type RefreshRotation =
  /** The used token stays valid until the new access token is first used. */
  | 'on-first-use'
  /** The used token ends with its use. */
  | 'at-once'
  /** No new token is issued: the same token stays valid. */
  | 'off';

export interface TokenOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly lifetimeSeconds: number;
  readonly rotation: RefreshRotation;
  readonly now: () => Date;
}

export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly createdAt: Date;
  readonly scope: string;
}

/** Why a bearer token is refused, in Doorkeeper's words. */
export type TokenFault = 'invalid' | 'expired' | 'revoked';

interface TokenRecord {
  readonly scope: string;
  /** Whether the chain of tokens began with a person's login. */
  readonly forPerson: boolean;
  /** The token whose refresh token issued this one; it ends when this one is first used. */
  replaces: TokenRecord | undefined;
  revoked: boolean;
}

/** Issues and checks JWT access tokens and opaque refresh tokens. */
export class Tokens {
  readonly #options: TokenOptions;
  readonly #key = randomBytes(32);
  readonly #byJwtId = new Map<string, TokenRecord>();
  readonly #byRefreshToken = new Map<string, TokenRecord>();

  constructor(options: TokenOptions) {
    this.#options = options;
  }

  async issue(
    scope: string,
    { withRefresh, forPerson }: { withRefresh: boolean; forPerson: boolean },
  ): Promise<IssuedTokens> {
    return this.#issue({ scope, forPerson, replaces: undefined }, withRefresh ? opaque() : undefined);
  }

  /** Returns undefined if the refresh token is unknown, used up or revoked. */
  async refresh(refreshToken: string, scope: string | undefined): Promise<IssuedTokens | undefined> {
    const used = this.#byRefreshToken.get(refreshToken);
    if (used === undefined || used.revoked) return undefined;
    const { rotation } = this.#options;
    if (rotation === 'at-once') used.revoked = true;
    const next = rotation === 'off' ? refreshToken : opaque();
    const replaces = rotation === 'on-first-use' ? used : undefined;
    return this.#issue({ scope: scope ?? used.scope, forPerson: used.forPerson, replaces }, next);
  }

  /** Checks a bearer token as the listing does. Its first use ends the token that it replaced. */
  async check(accessToken: string): Promise<{ scope: string; forPerson: boolean } | TokenFault> {
    let jwtId: string | undefined;
    try {
      const { payload } = await jwtVerify(accessToken, this.#key, {
        issuer: this.#options.issuer,
        currentDate: this.#options.now(),
      });
      jwtId = payload.jti;
    } catch (error) {
      return error instanceof errors.JWTExpired ? 'expired' : 'invalid';
    }
    const record = this.#byJwtId.get(jwtId ?? '');
    if (record === undefined) return 'invalid';
    if (record.revoked) return 'revoked';
    if (record.replaces !== undefined) record.replaces.revoked = true;
    record.replaces = undefined;
    return { scope: record.scope, forPerson: record.forPerson };
  }

  /** Revokes every token issued so far, as a changed signing key or an administrator would. */
  revokeAll(): void {
    for (const record of this.#byJwtId.values()) record.revoked = true;
  }

  /** Revokes only the refresh tokens; access tokens stay valid. */
  revokeRefreshTokens(): void {
    this.#byRefreshToken.clear();
  }

  async #issue(
    line: Pick<TokenRecord, 'scope' | 'forPerson' | 'replaces'>,
    refreshToken: string | undefined,
  ): Promise<IssuedTokens> {
    const { scope } = line;
    const { issuer, clientId, lifetimeSeconds, now } = this.#options;
    const createdAt = now();
    const issuedAt = Math.floor(createdAt.getTime() / 1000);
    const jwtId = randomUUID();
    const accessToken = await new SignJWT({ scope })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer(issuer)
      .setSubject(clientId)
      .setJti(jwtId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + lifetimeSeconds)
      .sign(this.#key);
    const record: TokenRecord = { ...line, revoked: false };
    this.#byJwtId.set(jwtId, record);
    if (refreshToken !== undefined) this.#byRefreshToken.set(refreshToken, record);
    return { accessToken, refreshToken, createdAt, scope };
  }
}

function opaque(): string {
  return randomBytes(32).toString('base64url');
}
