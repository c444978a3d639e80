import type { Quota } from '../../leads/quota.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { type LimitSaid, RequestWindow } from '../crm/request-window.ts';
import type { Answer } from '../http/api-server.ts';
import { DAILY_WAIT_MS, saysDayIsUsedUp } from './judge-fault.ts';

/** The unit of the daily limit. */
export const DAILY_UNIT = 'API requests';
/** The lowest of HubSpot's limits: that of a free account, per private app or service key. */
const LEAST_LIMIT = { requests: 100, perMs: 10_000 };

/** The limits of an account, as read from its answers: requests per ten seconds, and requests per day. */
export class AccountLimits {
  readonly #clock: Clock;
  readonly #window: RequestWindow;
  #quota: Quota | undefined;
  /** When an answer said that no request is left today, by the monotonic clock. */
  #usedUpAtMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#window = new RequestWindow(clock, LEAST_LIMIT);
  }

  /** How much of the daily limit is used; undefined before the first answer. */
  get quota(): Quota | undefined {
    return this.#quota;
  }

  /**
   * Returns the time for which leadsync still sends nothing because the account has no requests left today, in ms. The limit is renewed at
   * midnight in the account's time zone, which leadsync does not know, so leadsync tries again an hour after the last answer that said so.
   */
  waitMs(): number {
    if (this.#usedUpAtMs === undefined) return 0;
    return Math.max(0, this.#usedUpAtMs + DAILY_WAIT_MS - this.#clock.monotonicMs());
  }

  /** Allows the next request, although the account had none left today. */
  lookAgain(): void {
    this.#usedUpAtMs = undefined;
  }

  /** Waits until one more request is allowed, as `RequestWindow.take` does. The caller calls the returned function with the answer, if any. */
  async take(signal: AbortSignal): Promise<(answer: Answer | undefined) => void> {
    const answered = await this.#window.take(signal);
    return (answer) => {
      answered(answer && limitSaid(answer));
      if (answer) this.#learnDay(answer);
    };
  }

  #learnDay(answer: Answer): void {
    const limit = numberIn(answer, 'daily');
    const left = numberIn(answer, 'daily-remaining');
    if (limit > 0 && left >= 0)
      this.#quota = { unit: DAILY_UNIT, used: limit - left, limit, readAt: this.#clock.now() };
    if (left === 0 || saysDayIsUsedUp(answer)) this.#usedUpAtMs = this.#clock.monotonicMs();
    else if (left > 0) this.#usedUpAtMs = undefined;
  }
}

/** Returns the limit in the headers of an answer; NaN for what they lack (https://developers.hubspot.com/docs/api/usage-details). */
function limitSaid(answer: Answer): LimitSaid {
  return {
    requests: numberIn(answer, 'max'),
    perMs: numberIn(answer, 'interval-milliseconds'),
    remaining: numberIn(answer, 'remaining'),
  };
}

/** Returns the number in a rate limit header; NaN if the header is absent. */
function numberIn({ header }: Answer, name: string): number {
  return Number(header(`x-hubspot-ratelimit-${name}`) ?? Number.NaN);
}
