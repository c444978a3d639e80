import { hash, randomBytes } from 'node:crypto';

/** Lifetime of a session, in ms. */
export const SESSION_MS = 12 * 3_600_000;
/** Maximum number of concurrent sessions. A further session ends the oldest one. */
const MAX_SESSIONS = 1_000;

/** A session that began with a token. */
export interface TokenHolder {
  readonly via: 'session';
  readonly who: string;
  /** Digest of the token. The session ends when the token is no longer in force. */
  readonly credential: string;
}

/** A session that began with a login at an OpenID provider. */
export interface PersonHolder {
  readonly via: 'oidc';
  readonly who: string;
  /** The person's subject, and below it the issuer within which it is unique. */
  readonly subject: string;
  readonly issuer: string;
  /** Groups at the time of the login. */
  readonly groups: readonly string[];
  /** Key of the provider. The session ends when that provider is no longer in force. */
  readonly provider: string;
  /** The ID token, for the logout at the provider. */
  readonly idToken: string | undefined;
}

/** The holder of a session, and the credential or login with which it began. */
export type SessionHolder = TokenHolder | PersonHolder;

/** Sessions of logged-in readers, in memory. A restart ends all sessions. */
export class Sessions {
  readonly #now: () => number;
  /** Expiry and holder of each session, by the hash of the session id, so that a memory dump holds no usable id. */
  readonly #ends = new Map<string, { readonly atMs: number; readonly holder: SessionHolder }>();

  /** @param now a monotonic clock, in ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts a session for a holder whose credential the caller has checked. Returns the session id. */
  begin(holder: SessionHolder): string {
    const id = randomBytes(32).toString('base64url');
    const [oldest] = this.#ends.keys();
    if (oldest !== undefined && this.#ends.size >= MAX_SESSIONS) this.#ends.delete(oldest);
    this.#ends.set(digest(id), { atMs: this.#now() + SESSION_MS, holder });
    return id;
  }

  /** Returns the holder of a session; undefined if it has expired. The caller checks whether the holder's credential is still in force. */
  holderOf(id: string): SessionHolder | undefined {
    const session = this.#ends.get(digest(id));
    if (!session || session.atMs > this.#now()) return session?.holder;
    this.end(id);
    return undefined;
  }

  end(id: string): void {
    this.#ends.delete(digest(id));
  }
}

/** Returns the SHA-256 of a text, so that memory holds neither tokens nor session ids. */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
