import { type Answer, failed } from './answer.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** Requests per 24 hours of an org: 15,000 with Developer Edition; 100,000 and 1,000 per user with Enterprise Edition. */
export const DAILY_REQUESTS = { developer: 15_000, enterprise: 100_000 } as const;

/** Counts requests over the last 24 hours, by the minute, and refuses those above the limit. */
export class ApiUsage {
  readonly #counts = new Map<number, number>();
  readonly #now: () => Date;
  readonly #isEnforced: boolean;
  readonly limit: number;

  /** @param limit requests in 24 hours; counted, but without end, if undefined */
  constructor(limit: number | undefined, now: () => Date) {
    this.limit = limit ?? DAILY_REQUESTS.enterprise;
    this.#isEnforced = limit !== undefined;
    this.#now = now;
  }

  /** Requests of the last 24 hours. */
  get used(): number {
    const oldest = this.#minute() - DAY_MINUTES;
    for (const minute of this.#counts.keys()) if (minute <= oldest) this.#counts.delete(minute);
    return this.#counts.values().reduce((sum, count) => sum + count, 0);
  }

  /** Counts requests as if another application had sent them now. */
  use(requests: number): void {
    const minute = this.#minute();
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + requests);
  }

  /** Counts a request, or returns the answer to one above the limit. */
  refuse(): Answer | undefined {
    if (this.#isEnforced && this.used >= this.limit)
      return failed(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.');
    this.use(1);
    return undefined;
  }

  /** The header of every answer of the REST API. */
  get header(): string {
    return `api-usage=${Math.min(this.used, this.limit)}/${this.limit}`;
  }

  /** Answers `limits`. */
  answerLimits(): Answer {
    const DailyApiRequests = { Max: this.limit, Remaining: Math.max(0, this.limit - this.used) };
    return { status: 200, body: { DailyApiRequests, DataStorageMB: { Max: 5, Remaining: 4 } } };
  }

  #minute(): number {
    return Math.floor(this.#now().getTime() / MINUTE_MS);
  }
}
