import type { Quota } from '../../leads/quota.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** The unit of the daily limit. */
export const DAILY_UNIT = 'tokens';
/** Time for which leadsync sends nothing once the daily API tokens are used up, in ms. Pipedrive does not document when a day begins. */
export const DAILY_WAIT_MS = 3_600_000;

/** The company's daily API tokens. Every program of the company uses them. */
export class TokenBudget {
  readonly #clock: Clock;
  /** The configured budget, used if Pipedrive does not report one. */
  readonly #configured: number | undefined;
  #last: (Quota & { readonly atMs: number }) | undefined;

  constructor(clock: Clock, configured: number | undefined) {
    this.#clock = clock;
    this.#configured = configured;
  }

  get quota(): Quota | undefined {
    if (this.#last === undefined) return undefined;
    const { atMs: _, ...quota } = this.#last;
    return quota;
  }

  /** Adopts the budget in an answer. If the answer contains none and a budget is configured, counts the tokens of the request. */
  learn({ limit, remaining }: { limit: number; remaining: number }, tokens: number): void {
    if (limit > 0 && remaining >= 0) this.#note(Math.max(0, limit - remaining), limit);
    else if (this.#configured !== undefined) this.#note(this.#usedToday() + tokens, this.#configured);
  }

  /**
   * Verifies, without a request, that enough tokens are left. An hour after Pipedrive's last answer, it lets a request through in any case.
   * @throws SinkUnavailable if too few tokens are left
   */
  demand(tokens: number, origin: string): void {
    if (this.#last === undefined) return;
    const waitMs = this.#last.atMs + DAILY_WAIT_MS - this.#clock.monotonicMs();
    const { used, limit } = this.#last;
    if (limit - this.#usedToday() >= tokens || waitMs <= 0) return;
    throw new SinkUnavailable(
      `The company at ${origin} has used ${used} of its ${limit} daily API tokens, and a lead needs ${tokens}.`,
      {
        hint: 'leadsync asks again within the hour. Other programs use the same tokens; more seats or another plan give more.',
        retryAfterMs: Math.ceil(waitMs),
        unsent: true,
      },
    );
  }

  /** Returns a sentence that compares the budget with the cost of a lead. */
  describe(tokensOfLead: number): string {
    const cost = `A lead of a new person costs ${tokensOfLead} tokens`;
    if (this.#last === undefined) return `${cost}.`;
    const { limit } = this.#last;
    const left = Math.max(0, limit - this.#usedToday());
    const leads = (tokens: number) => Math.floor(tokens / tokensOfLead);
    return `${cost}: the company's ${limit} tokens a day allow ${leads(limit)} leads, and the ${left} that are left today allow ${leads(left)}.`;
  }

  /** Returns the number of tokens used today. leadsync's own count starts again each day (UTC). */
  #usedToday(): number {
    if (this.#last === undefined) return 0;
    const day = (at: Date) => at.toISOString().slice(0, 10);
    const isCounted = this.#configured === this.#last.limit;
    return isCounted && day(this.#last.readAt) !== day(this.#clock.now()) ? 0 : this.#last.used;
  }

  #note(used: number, limit: number): void {
    const readAt = this.#clock.now();
    this.#last = { unit: DAILY_UNIT, used, limit, readAt, atMs: this.#clock.monotonicMs() };
  }
}
