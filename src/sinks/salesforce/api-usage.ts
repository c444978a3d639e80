import type { Quota } from '../../leads/quota.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { DAILY_WAIT_MS } from './judge-answer.ts';

/** The unit of the 24-hour limit. */
export const DAILY_UNIT = 'API requests';
/** `api-usage=123/100000` in the header `Sforce-Limit-Info`. */
const USAGE = /\bapi-usage=(\d+)\/(\d+)/;

/** The number of API requests that all programs of an org made in the last 24 hours, according to the org's answers. */
export class ApiUsage {
  readonly #clock: Clock;
  #last: (Quota & { readonly atMs: number }) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adopts the header `Sforce-Limit-Info` of an answer. */
  learn(header: string | undefined): void {
    const [, used, limit] = USAGE.exec(header ?? '') ?? [];
    if (used === undefined || limit === undefined) return;
    this.#last = {
      unit: DAILY_UNIT,
      used: Number(used),
      limit: Number(limit),
      readAt: this.#clock.now(),
      atMs: this.#clock.monotonicMs(),
    };
  }

  /** Returns the time for which leadsync still sends nothing because the org has no requests left, in ms; 0 if it has some. */
  waitMs(): number {
    if (this.#last === undefined || this.#last.used < this.#last.limit) return 0;
    return Math.max(0, this.#last.atMs + DAILY_WAIT_MS - this.#clock.monotonicMs());
  }

  /** Returns the usage; undefined before the first answer. */
  quota(): Quota | undefined {
    if (this.#last === undefined) return undefined;
    const { atMs: _, ...quota } = this.#last;
    return quota;
  }

  /** Returns the usage as a sentence; undefined before the first answer. */
  describe(): string | undefined {
    if (this.#last === undefined) return undefined;
    const { used, limit } = this.#last;
    return `The org has used ${used} of the ${limit} API requests that it may make in 24 hours.`;
  }
}
