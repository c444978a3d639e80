import type { Clock } from '../../platform/time/clock.ts';
import type { PollFailure } from '../../status/problems/poll-checks.ts';
import type { Emit, EventOf } from '../../telemetry/events.ts';

/** The failed last poll of a source. */
interface LastFailure extends PollFailure {
  /** When leadsync polls again, unless an operator requests a poll earlier. */
  readonly retryAt: Date;
}

/** The failures of the sources whose last poll failed. */
export class PollFailures {
  readonly #clock: Clock;
  readonly #last = new Map<string, LastFailure>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Receives every event and remembers the sources whose last poll failed. */
  readonly observe: Emit = (event) => {
    if (event.type === 'poll-failed') this.#last.set(event.source, this.#failure(event));
    if (event.type === 'poll-finished') this.#last.delete(event.source);
  };

  #failure({ code, reason, hint, status, retryInMs }: EventOf<'poll-failed'>): LastFailure {
    const retryAt = new Date(this.#clock.now().getTime() + retryInMs);
    return { code, reason, hint, isPartial: status === 'partial', retryAt };
  }

  /** Returns the failure of a source; undefined if its last poll succeeded. */
  of(source: string): LastFailure | undefined {
    return this.#last.get(source);
  }
}
