import { hash, randomBytes } from 'node:crypto';

/** Lifetime of a session, in ms. */
export const SESSION_MS = 12 * 3_600_000;
/** Maximum concurrent sessions; a further one ends the oldest. */
const MAX_SESSIONS = 1_000;

/** Sessions of logged-in readers, in memory. A restart or a new token ends all sessions. */
export class Sessions {
  readonly #now: () => number;
  /** Expiry and token hash of each session, by the hash of the session id, so that a memory dump holds no usable id. */
  readonly #ends = new Map<string, { readonly atMs: number; readonly token: string }>();

  /** @param now a monotonic clock, in ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts a session for a token that the caller has checked. Returns the session id. */
  begin(token: string): string {
    const id = randomBytes(32).toString('base64url');
    const [oldest] = this.#ends.keys();
    if (oldest !== undefined && this.#ends.size >= MAX_SESSIONS) this.#ends.delete(oldest);
    this.#ends.set(digest(id), { atMs: this.#now() + SESSION_MS, token: digest(token) });
    return id;
  }

  /** Whether the session has not expired and was started with the token in force. */
  isValid(id: string, token: string): boolean {
    const session = this.#ends.get(digest(id));
    if (!session) return false;
    if (session.atMs > this.#now() && session.token === digest(token)) return true;
    this.#ends.delete(digest(id));
    return false;
  }

  end(id: string): void {
    this.#ends.delete(digest(id));
  }
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
