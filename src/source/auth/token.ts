import type { Clock } from '../../platform/time/clock.ts';

/** The grant that a token originates from. A refresh keeps it. */
export type TokenOrigin = 'client_credentials' | 'authorization_code';

/** An access token with its refresh token, and the times of receipt, expiry and refusal. */
export interface Token {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly origin: TokenOrigin;
  /** When the answer arrived, by the local clock. */
  readonly receivedAt: Date;
  /** When the token expires, by the local clock. If undefined, leadsync uses the token until the service refuses it. */
  readonly expiresAt: Date | undefined;
  /** When the service first refused a login's refresh token; undefined if the service has not refused it since the token was received. */
  readonly refusedAt?: Date | undefined;
}

const LONGEST_MARGIN_MS = 60_000;

/**
 * Returns when to renew a token: one minute or a tenth of its lifetime before it expires, whichever is shorter. Undefined if the time of expiry is
 * unknown.
 */
function renewalAt({ receivedAt, expiresAt }: Token): Date | undefined {
  if (expiresAt === undefined) return undefined;
  const lifetimeMs = expiresAt.getTime() - receivedAt.getTime();
  return new Date(expiresAt.getTime() - Math.min(LONGEST_MARGIN_MS, lifetimeMs / 10));
}

/** A token in memory. It counts as good only while both clocks say so: the wall clock may jump, and the monotonic clock may stop. */
export class HeldToken {
  readonly token: Token;
  readonly #clock: Clock;
  readonly #goodUntilMonotonicMs: number;

  constructor(token: Token, clock: Clock) {
    this.token = token;
    this.#clock = clock;
    const now = clock.now().getTime();
    const until = renewalAt(token)?.getTime() ?? Number.POSITIVE_INFINITY;
    // A wall clock that was set back must not extend the token's life.
    const left = until - Math.max(now, token.receivedAt.getTime());
    this.#goodUntilMonotonicMs = clock.monotonicMs() + left;
  }

  isGood(): boolean {
    const until = renewalAt(this.token)?.getTime() ?? Number.POSITIVE_INFINITY;
    return this.#clock.now().getTime() < until && this.#clock.monotonicMs() < this.#goodUntilMonotonicMs;
  }
}
