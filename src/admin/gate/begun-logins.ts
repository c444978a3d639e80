import { randomBytes } from 'node:crypto';
import type { LoginAttempt } from '../../identity/contract.ts';
import { digest } from './sessions.ts';

/** Time that a person has to log in at the provider, in ms. */
export const LOGIN_MS = 10 * 60_000;
/** Maximum number of begun logins. The oldest is dropped first. */
const MAX_LOGINS = 2_000;
/** Maximum number of begun logins from one address, so that one client cannot push out the logins of all others. */
const MAX_PER_ADDRESS = 50;

/** A login that a browser has begun, and the page to open after it. */
export interface BegunLogin {
  readonly attempt: LoginAttempt;
  /** Key of the provider at which it began. */
  readonly provider: string;
  readonly next: string;
}

interface Kept extends BegunLogin {
  readonly browser: string;
  readonly address: string;
  readonly untilMs: number;
}

/**
 * Logins that browsers have begun at the provider and not finished, in memory. A cookie binds each login to one browser, which can have several, one
 * for each tab. Otherwise, an attacker could make a victim finish the attacker's login, and then see what the victim does under the attacker's name
 * (RFC 6819, section 4.4.1.8).
 */
export class BegunLogins {
  readonly #now: () => number;
  /** Logins by state, in the order in which they began. */
  readonly #begun = new Map<string, Kept>();

  /** @param now a monotonic clock, in ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Number of logins that are kept. */
  get size(): number {
    return this.#begun.size;
  }

  /** Keeps a login. Returns the id of its browser: `browser` if that browser has begun other logins, otherwise a new id. */
  add(login: BegunLogin, address: string, browser = ''): string {
    this.#dropExpired();
    const sent = digest(browser);
    const isKnown = this.#begun.values().some((kept) => kept.browser === sent);
    const id = isKnown ? browser : randomBytes(32).toString('base64url');
    this.#makeRoomFor(address);
    const kept = { ...login, browser: digest(id), address, untilMs: this.#now() + LOGIN_MS };
    this.#begun.set(login.attempt.state, kept);
    return id;
  }

  #makeRoomFor(address: string): void {
    const own = [...this.#begun].filter(([, kept]) => kept.address === address).map(([state]) => state);
    const isFull = this.#begun.size >= MAX_LOGINS;
    const [oldest] = own.length >= MAX_PER_ADDRESS ? own : isFull ? this.#begun.keys() : [];
    if (oldest !== undefined) this.#begun.delete(oldest);
  }

  /** Returns the login with that state, once. Undefined if it has expired, has been taken, or belongs to another browser. */
  take(state: string, browser: string): BegunLogin | undefined {
    this.#dropExpired();
    const kept = this.#begun.get(state);
    if (kept === undefined || kept.browser !== digest(browser)) return undefined;
    this.#begun.delete(state);
    return kept;
  }

  #dropExpired(): void {
    for (const [state, { untilMs }] of this.#begun) {
      if (untilMs > this.#now()) return; // the others began later
      this.#begun.delete(state);
    }
  }
}
