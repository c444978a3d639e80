import type { PollFailure } from '../../status/shared-problems.ts';
import type { Emit, EventOf } from '../../telemetry/events.ts';

/** The failures of the sources whose last poll failed. */
export class PollFailures {
  readonly #last = new Map<string, EventOf<'poll-failed'>>();

  /** Receives every event and remembers which sources' last poll failed. */
  readonly observe: Emit = (event) => {
    if (event.type === 'poll-failed') this.#last.set(event.source, event);
    if (event.type === 'poll-finished') this.#last.delete(event.source);
  };

  /** Returns the failure of a source; undefined if its last poll succeeded. */
  of(source: string): PollFailure | undefined {
    const last = this.#last.get(source);
    if (!last) return undefined;
    const { code, reason, hint, status } = last;
    return { code, reason, hint, isPartial: status === 'partial' };
  }
}
