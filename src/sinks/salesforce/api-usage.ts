import type { Quota } from '../../leads/quota.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { DAILY_WAIT_MS } from './judge-answer.ts';

/** What the limit of 24 hours counts. */
export const DAILY_UNIT = 'API requests';
/** `api-usage=123/100000` in the header `Sforce-Limit-Info`. */
const USAGE = /\bapi-usage=(\d+)\/(\d+)/;

/** The API requests of an org in the last 24 hours, by all of its programs, as its answers tell them. */
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

  /** Returns for how many ms leadsync sends nothing because the org has no requests left; 0 if it has some. */
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
    return `The org has used ${used} of its ${limit} API requests of 24 hours.`;
  }
}
