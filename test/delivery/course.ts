import { judgeBy } from '../../src/delivery/judge.ts';
import type { AttemptedDelivery, Judgement } from '../../src/leads/judgement.ts';
import type { Delivered, Outcome, Refused, Unavailable, Untried } from '../../src/leads/outcome.ts';
import { HEALTHY, type SinkHealth } from '../../src/leads/sink-health.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export const delivered: Delivered = { kind: 'delivered', httpStatus: 204 };
export const refused: Refused = { kind: 'refused', reason: 'It says no.', httpStatus: 422 };
export const down: Unavailable = { kind: 'unavailable', reason: 'It is down.', httpStatus: 503 };
export const untried: Untried = { kind: 'untried' };
export const asking = (ms: number): Unavailable => ({ ...down, httpStatus: 429, retryAfterMs: ms });

export const scheduleMs = [5 * SECOND, 5 * MINUTE, 30 * MINUTE];
/** A random value half-way between the extremes means no jitter. */
const judge = judgeBy(
  () => ({ scheduleMs, jitter: 0.2 }),
  () => 0.5,
);

/** One sink over time: settles attempts one after the other. */
export class Course {
  health: SinkHealth = HEALTHY;
  ms = Date.parse('2026-11-20T10:00:00.000Z');

  get now(): Date {
    return new Date(this.ms);
  }

  settle(...batch: (Outcome | AttemptedDelivery)[]): Judgement {
    const attempted = batch.map((one) => ('kind' in one ? anAttempt(one, { waitingSince: this.now }) : one));
    const judgement = judge('crm', this.health, attempted, this.now);
    this.health = judgement.health;
    return judgement;
  }

  /** Settles each outcome as a batch of its own, 1 ms apart. */
  oneByOne(...outcomes: (Outcome | AttemptedDelivery)[]): Judgement {
    let last: Judgement | undefined;
    for (const outcome of outcomes) {
      this.ms += 1;
      last = this.settle(outcome);
    }
    return last as Judgement;
  }

  toProbe(): void {
    this.ms = Math.max(this.ms, this.health.probeAt?.getTime() ?? this.ms);
  }

  get waitMs(): number {
    return (this.health.probeAt?.getTime() ?? Number.NaN) - this.ms;
  }
}

export const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
const AFTER_ANY_HOLD = new Date('2100-01-01T00:00:00Z');
export const anAttempt = (outcome: Outcome, more: Partial<AttemptedDelivery> = {}): AttemptedDelivery => ({
  attempts: 0,
  excused: 0,
  waitingSince: new Date(0),
  startedAt: AFTER_ANY_HOLD,
  refusedAt: undefined,
  ofErased: false,
  retried: false,
  outcome,
  ...more,
});
export const refusedBefore = (at: Date): AttemptedDelivery => anAttempt(refused, { refusedAt: at });
