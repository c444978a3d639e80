import { hash, randomBytes } from 'node:crypto';

/** A login lasts so long, in ms. */
export const SESSION_MS = 12 * 3_600_000;
/** So many at once; one more ends the oldest. */
const MAX_SESSIONS = 1_000;

/** Who has logged in. In memory: a restart ends all of them, and so does another token. */
export class Sessions {
  readonly #now: () => number;
  /** When each ends, by the hash of its id: what is in memory opens nothing. */
  readonly #ends = new Map<string, { readonly atMs: number; readonly token: string }>();

  /** `now` gives ms that only ever grow. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Begins one for whoever has shown the token. Gives its id. */
  begin(token: string): string {
    const id = randomBytes(32).toString('base64url');
    const [oldest] = this.#ends.keys();
    if (oldest !== undefined && this.#ends.size >= MAX_SESSIONS) this.#ends.delete(oldest);
    this.#ends.set(digest(id), { atMs: this.#now() + SESSION_MS, token: digest(token) });
    return id;
  }

  /** Whether it is still on, under the token that is in force. */
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
