import type { PollFailure } from '../../status/shared-problems.ts';
import type { Emit, EventOf } from '../../telemetry/events.ts';

/** Why the last poll of each source failed. */
export class PollFailures {
  readonly #last = new Map<string, EventOf<'poll-failed'>>();

  /** Takes every event. */
  readonly observe: Emit = (event) => {
    if (event.type === 'poll-failed') this.#last.set(event.source, event);
    if (event.type === 'poll-finished') this.#last.delete(event.source);
  };

  of(source: string): PollFailure | undefined {
    const last = this.#last.get(source);
    if (!last) return undefined;
    const { code, reason, hint, status } = last;
    return { code, reason, hint, isPartial: status === 'partial' };
  }
}
