import type { Clock } from '../../../src/platform/time/clock.ts';
import type { Route } from './routes.ts';
import { fixedAnswers, tooManyRequests, type VendorAnswer } from './vendor-answer.ts';

/** Tokens a day and seat, and requests per 2 s and API token, by plan (core-api-concepts-rate-limiting). */
export const plans = {
  lite: { tokens: 30_000, burst: 20 },
  growth: { tokens: 60_000, burst: 40 },
  premium: { tokens: 150_000, burst: 100 },
  ultimate: { tokens: 210_000, burst: 120 },
} as const;

/** The limits to enforce. */
export interface LimitOptions {
  readonly plan: keyof typeof plans;
  /** 1 by default. */
  readonly seats?: number;
  /** Whether answers carry `x-daily-ratelimit-token-limit` and `-remaining` (true): seen, but documented nowhere. */
  readonly dailyHeaders?: boolean;
  /** Whether a 429 carries Retry-After (false): documented nowhere. */
  readonly retryAfter?: boolean;
  /** Number of 429 in a row after which Cloudflare blocks the client (10); how many it takes is not documented. */
  readonly blockAfter?: number;
  /** How long Cloudflare blocks, in ms (1 hour); not documented. */
  readonly blockMs?: number;
}

const WINDOW_MS = 2_000;
const SEARCHES = 10;
const HOUR_MS = 3_600_000;

/** The state of the limits that a client can meet, for assertions. */
export interface LimitState {
  readonly tokensLimit: number;
  readonly tokensLeft: number;
}

/** Counts requests of the one API token by the clock. The day ends at midnight UTC. */
export class Limits {
  readonly #options: LimitOptions;
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly #windows = { any: new Window(), search: new Window() };
  #day = '';
  #tokensUsed = 0;
  #refusedInARow = 0;
  #blockedUntilMs = 0;

  constructor(options: LimitOptions, clock: Pick<Clock, 'now' | 'monotonicMs'>) {
    this.#options = options;
    this.#clock = clock;
  }

  get state(): LimitState {
    this.#startDay();
    const { plan, seats = 1 } = this.#options;
    const tokensLimit = plans[plan].tokens * seats;
    return { tokensLimit, tokensLeft: Math.max(0, tokensLimit - this.#tokensUsed) };
  }

  /** Spends the day's tokens down to `left`, as other integrations of the company would. */
  useUpTokens(left = 0): void {
    this.#startDay();
    this.#tokensUsed = this.state.tokensLimit - left;
  }

  /** Counts a request. @returns the headers of its answer, or the answer if a limit refuses it */
  count(route: Route): { readonly headers: Record<string, string> } | { readonly refused: VendorAnswer } {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#blockedUntilMs) return { refused: fixedAnswers.cloudflare };
    const window = this.#windows[route.isSearch ? 'search' : 'any'];
    const limit = route.isSearch ? SEARCHES : plans[this.#options.plan].burst;
    if (this.state.tokensLeft === 0) {
      return this.#refuse(nowMs, this.#headers(window, limit, nowMs), secondsToMidnight(this.#clock.now()));
    }
    if (window.count(nowMs) >= limit) {
      return this.#refuse(nowMs, this.#headers(window, limit, nowMs), window.secondsLeft(nowMs));
    }
    window.add(nowMs);
    this.#tokensUsed += route.tokens;
    this.#refusedInARow = 0;
    return { headers: this.#headers(window, limit, nowMs) };
  }

  #refuse(nowMs: number, headers: Record<string, string>, afterSeconds: number) {
    this.#refusedInARow += 1;
    const { blockAfter = 10, blockMs = HOUR_MS, retryAfter = false } = this.#options;
    if (this.#refusedInARow > blockAfter) {
      this.#blockedUntilMs = nowMs + blockMs;
      this.#refusedInARow = 0;
      return { refused: fixedAnswers.cloudflare };
    }
    return {
      refused: tooManyRequests({
        ...headers,
        ...(retryAfter ? { 'retry-after': String(afterSeconds) } : {}),
      }),
    };
  }

  #headers(window: Window, limit: number, nowMs: number): Record<string, string> {
    const { tokensLimit, tokensLeft } = this.state;
    return {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(Math.max(0, limit - window.count(nowMs))),
      'x-ratelimit-reset': String(window.secondsLeft(nowMs)),
      ...(this.#options.dailyHeaders === false
        ? {}
        : {
            'x-daily-ratelimit-token-limit': String(tokensLimit),
            'x-daily-ratelimit-token-remaining': String(tokensLeft),
          }),
    };
  }

  #startDay(): void {
    const day = this.#clock.now().toISOString().slice(0, 10);
    if (day !== this.#day) this.#tokensUsed = 0;
    this.#day = day;
  }
}

/** The requests of the last 2 seconds. */
class Window {
  #atMs: number[] = [];

  add(nowMs: number): void {
    this.#atMs.push(nowMs);
  }

  count(nowMs: number): number {
    this.#atMs = this.#atMs.filter((atMs) => nowMs - atMs < WINDOW_MS);
    return this.#atMs.length;
  }

  /** Returns the time until the oldest request no longer counts, in whole seconds. */
  secondsLeft(nowMs: number): number {
    const oldest = this.#atMs[0] ?? nowMs;
    return Math.ceil((WINDOW_MS - (nowMs - oldest)) / 1_000);
  }
}

function secondsToMidnight(now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return Math.ceil((midnight - now.getTime()) / 1_000);
}
