import type { Clock } from '../../platform/time/clock.ts';

/** How a line of tokens began. Refreshing keeps it. */
export type TokenOrigin = 'client_credentials' | 'authorization_code';

/** An access token with all that is known of it. */
export interface Token {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly origin: TokenOrigin;
  /** By the local clock. */
  readonly receivedAt: Date;
  /** By the local clock, from the moment of receipt; undefined: it is used until it is refused. */
  readonly expiresAt: Date | undefined;
  /** When the service refused the refresh token of a login for the first time; undefined: it has not since the token was received. */
  readonly refusedAt?: Date | undefined;
}

const LONGEST_MARGIN_MS = 60_000;

/** When a token should be renewed: a minute before its end, or a tenth of its life when that is less. */
function renewalAt({ receivedAt, expiresAt }: Token): Date | undefined {
  if (expiresAt === undefined) return undefined;
  const lifetimeMs = expiresAt.getTime() - receivedAt.getTime();
  return new Date(expiresAt.getTime() - Math.min(LONGEST_MARGIN_MS, lifetimeMs / 10));
}

/** A token in this process's hands. It counts as good only while both clocks say so, since either may jump or stand still. */
export class HeldToken {
  readonly token: Token;
  readonly #clock: Clock;
  readonly #goodUntilMonotonicMs: number;

  constructor(token: Token, clock: Clock) {
    this.token = token;
    this.#clock = clock;
    const now = clock.now().getTime();
    const until = renewalAt(token)?.getTime() ?? Number.POSITIVE_INFINITY;
    // A wall clock that was set back must not lengthen the token's life.
    const left = until - Math.max(now, token.receivedAt.getTime());
    this.#goodUntilMonotonicMs = clock.monotonicMs() + left;
  }

  isGood(): boolean {
    const until = renewalAt(this.token)?.getTime() ?? Number.POSITIVE_INFINITY;
    return this.#clock.now().getTime() < until && this.#clock.monotonicMs() < this.#goodUntilMonotonicMs;
  }
}
