import { NEEDS_OPERATOR } from '../../telemetry/events/source-events.ts';
import type { Emit, EventOf } from '../../telemetry/events.ts';

/** Why the last poll of a source failed. */
interface LastFailure {
  readonly reason: string;
  readonly hint: string;
  /** Waiting does not mend it. */
  readonly needsSomebody: boolean;
}

/** Why the last poll of each source failed. */
export class PollFailures {
  readonly #last = new Map<string, EventOf<'poll-failed'>>();

  /** Takes every event. */
  readonly observe: Emit = (event) => {
    if (event.type === 'poll-failed') this.#last.set(event.source, event);
    if (event.type === 'poll-finished') this.#last.delete(event.source);
  };

  of(source: string): LastFailure | undefined {
    const last = this.#last.get(source);
    return last && { reason: last.reason, hint: last.hint, needsSomebody: NEEDS_OPERATOR.has(last.code) };
  }
}
