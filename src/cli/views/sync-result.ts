import type { Event } from '../../telemetry/events.ts';

/** The counts of a poll in this run. */
interface PollResult {
  readonly listed: number;
  readonly new: number;
  readonly changed: number;
  readonly rejected: number;
}

/** Collects the results of one run from its events, because the totals in the ledger include earlier runs. */
export class SyncResult {
  readonly #polls = new Map<string, PollResult>();
  readonly #delivered = new Map<string, number>();

  /** Receives every event. */
  readonly observe = (event: Event): void => {
    if (event.type === 'poll-finished') this.#polls.set(event.source, event);
    else if (event.type === 'poll-failed' && event.recorded) this.#polls.set(event.source, event.recorded);
    else if (event.type === 'batch-settled')
      this.#delivered.set(event.sink, this.deliveredTo(event.sink) + event.delivered);
  };

  /** Returns the number of deliveries that were made to a sink in this run. */
  deliveredTo(sink: string): number {
    return this.#delivered.get(sink) ?? 0;
  }

  /** Returns what the run read from a source: `50 listed, 3 new`. Undefined if it read nothing. */
  readFrom(source: string): string | undefined {
    const poll = this.#polls.get(source);
    return poll && countsOf(poll);
  }
}

/** Returns the counts of a poll: `50 listed, 3 new`. */
export function countsOf(poll: PollResult): string {
  const changed = poll.changed > 0 ? `, ${poll.changed} changed` : '';
  const rejected = poll.rejected > 0 ? `, ${poll.rejected} rejected` : '';
  return `${poll.listed} listed, ${poll.new} new${changed}${rejected}`;
}
