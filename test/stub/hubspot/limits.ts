import type { Clock } from '../../../src/platform/time/clock.ts';
import { type ApiError, type LimitPolicy, rateLimited } from './api-error.ts';

/** The limits of an account, in requests. */
export interface Limits {
  /** Requests in any ten seconds, other than searches. */
  readonly tenSecondly: number;
  readonly daily: number;
  /** Searches in any second. */
  readonly searchesPerSecond: number;
}

/** HubSpot's limits by plan, for a service key or a private app (usage guidelines of 2026). */
export const limitsOfPlans = {
  free: { tenSecondly: 100, daily: 250_000, searchesPerSecond: 5 },
  professional: { tenSecondly: 190, daily: 625_000, searchesPerSecond: 5 },
  enterprise: { tenSecondly: 190, daily: 1_000_000, searchesPerSecond: 5 },
} satisfies Record<string, Limits>;

/** Counts requests against an account's limits. */
export class RateLimits {
  readonly #limits: Limits | undefined;
  readonly #clock: Clock;
  readonly #day: Intl.DateTimeFormat;
  #inTenSeconds: number[] = [];
  #searches: number[] = [];
  #today = '';
  #usedToday = 0;
  #isDayUsedUp = false;
  readonly #counts = { requests: 0, refused: 0 };

  constructor(limits: Limits | undefined, clock: Clock, timeZone: string) {
    this.#limits = limits;
    this.#clock = clock;
    this.#day = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  }

  /** Uses up the day's requests, until midnight in the account's time zone. */
  useUpDay(): void {
    this.#today = this.#day.format(this.#clock.now());
    this.#isDayUsedUp = true;
  }

  /** Requests since the start, and how many of them got a 429. */
  get counts(): { readonly requests: number; readonly refused: number } {
    return this.#counts;
  }

  /** Counts a request. @returns the 429 that it gets, or undefined */
  take(isSearch: boolean): ApiError | undefined {
    const policy = this.#exceeded(isSearch);
    this.#counts.requests += 1;
    if (policy !== undefined) this.#counts.refused += 1;
    return policy && rateLimited(policy);
  }

  /** Returns the headers of an answer. HubSpot sends none with searches, nor without a limit here. */
  headers(isSearch: boolean): Record<string, string> {
    if (!this.#limits || isSearch) return {};
    const { tenSecondly, daily } = this.#limits;
    const dailyRemaining = this.#isDayUsedUp ? 0 : Math.max(0, daily - this.#usedToday);
    return {
      'x-hubspot-ratelimit-max': String(tenSecondly),
      'x-hubspot-ratelimit-remaining': String(Math.max(0, tenSecondly - this.#inTenSeconds.length)),
      'x-hubspot-ratelimit-interval-milliseconds': '10000',
      'x-hubspot-ratelimit-daily': String(daily),
      'x-hubspot-ratelimit-daily-remaining': String(dailyRemaining),
    };
  }

  #exceeded(isSearch: boolean): LimitPolicy | undefined {
    if (!this.#limits && !this.#isDayUsedUp) return undefined;
    this.#startDay();
    if (this.#isDayUsedUp) return 'DAILY';
    if (!this.#limits) return undefined;
    if (this.#usedToday >= this.#limits.daily) return 'DAILY';
    const nowMs = this.#clock.now().getTime();
    this.#inTenSeconds = this.#inTenSeconds.filter((atMs) => atMs > nowMs - 10_000);
    this.#searches = this.#searches.filter((atMs) => atMs > nowMs - 1_000);
    if (isSearch && this.#searches.length >= this.#limits.searchesPerSecond) return 'SECONDLY';
    if (!isSearch && this.#inTenSeconds.length >= this.#limits.tenSecondly) return 'TEN_SECONDLY_ROLLING';
    (isSearch ? this.#searches : this.#inTenSeconds).push(nowMs);
    this.#usedToday += 1;
    return undefined;
  }

  #startDay(): void {
    const today = this.#day.format(this.#clock.now());
    if (today === this.#today) return;
    this.#today = today;
    this.#usedToday = 0;
    this.#isDayUsedUp = false;
  }
}
