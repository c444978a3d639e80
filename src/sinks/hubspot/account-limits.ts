import type { Quota } from '../../leads/quota.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Answer } from '../api-server.ts';
import { RequestWindow } from '../crm/request-window.ts';

/** What the limit of the day counts. */
export const DAILY_UNIT = 'API requests';
/** The least that HubSpot allows: the limit of a free account, per private app or service key. */
const LEAST_LIMIT = { requests: 100, perMs: 10_000 };

/** The limits of an account, as its answers tell them: requests within ten seconds, and requests of a day. */
export class AccountLimits {
  readonly #clock: Clock;
  readonly #window: RequestWindow;
  #quota: Quota | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#window = new RequestWindow(clock, LEAST_LIMIT);
  }

  /** How much of the daily limit is used; undefined before the first answer. */
  get quota(): Quota | undefined {
    return this.#quota;
  }

  /** Waits until one more request is allowed, as `RequestWindow.take` does. */
  take(signal: AbortSignal): Promise<() => void> {
    return this.#window.take(signal);
  }

  /** Adopts the headers of an answer (https://developers.hubspot.com/docs/api/usage-details). */
  learn({ header }: Answer): void {
    const number = (name: string) => Number(header(`x-hubspot-ratelimit-${name}`) ?? Number.NaN);
    const requests = number('max');
    const perMs = number('interval-milliseconds');
    const remaining = number('remaining');
    if (requests > 0 && perMs > 0 && remaining >= 0) this.#window.learn({ requests, perMs, remaining });
    const limit = number('daily');
    const left = number('daily-remaining');
    if (limit > 0 && left >= 0)
      this.#quota = { unit: DAILY_UNIT, used: limit - left, limit, readAt: this.#clock.now() };
  }
}
