import { hash } from 'node:crypto';

/** Maximum number of different wrong tokens from one address in a window: enough for typing errors, too few for guessing. */
const MAX_WRONG = 10;
const WINDOW_MS = 60_000;
/** Maximum number of addresses that are remembered. The oldest is dropped first. */
const MAX_ADDRESSES = 10_000;

interface Attempts {
  readonly untilMs: number;
  /** SHA-256 of each wrong token. The tokens themselves are not kept, because a mistyped token is almost the right one. */
  readonly wrong: Set<string>;
}

/**
 * Counts the different wrong tokens from each address, so that guessing is slowed down and does not fill the audit log. A client that repeats
 * one wrong token is misconfigured rather than guessing, so its token counts once. The right token is never subject to this limit.
 */
export class TokenThrottle {
  readonly #now: () => number;
  readonly #tried = new Map<string, Attempts>();

  /** @param now a monotonic clock, in ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns for how many more seconds wrong tokens from this address are neither counted nor recorded; 0 if they are counted and recorded. */
  waitSeconds(address: string): number {
    const tried = this.#of(address);
    return tried && tried.wrong.size >= MAX_WRONG ? Math.ceil((tried.untilMs - this.#now()) / 1000) : 0;
  }

  /** Records a wrong token. Returns true if it is new from this address in this window. */
  add(address: string, token: string): boolean {
    const tried = this.#of(address) ?? this.#startWindow(address);
    const before = tried.wrong.size;
    tried.wrong.add(hash('sha256', token, 'base64url'));
    return tried.wrong.size > before;
  }

  #of(address: string): Attempts | undefined {
    const tried = this.#tried.get(address);
    if (!tried || tried.untilMs > this.#now()) return tried;
    this.#tried.delete(address);
    return undefined;
  }

  #startWindow(address: string): Attempts {
    const [oldest] = this.#tried.keys();
    if (oldest !== undefined && this.#tried.size >= MAX_ADDRESSES) this.#tried.delete(oldest);
    const tried = { untilMs: this.#now() + WINDOW_MS, wrong: new Set<string>() };
    this.#tried.set(address, tried);
    return tried;
  }
}
