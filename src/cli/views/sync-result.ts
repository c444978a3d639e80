import type { Event } from '../../telemetry/events.ts';

/** What a poll of this run found in one source's listing. */
interface PollResult {
  readonly listed: number;
  readonly new: number;
  readonly changed: number;
  readonly rejected: number;
}

/** What one run has done, collected from its events: the ledger's totals also count every run before it. */
export class SyncResult {
  readonly #polls = new Map<string, PollResult>();
  readonly #delivered = new Map<string, number>();

  /** Takes every event. */
  readonly observe = (event: Event): void => {
    if (event.type === 'poll-finished') this.#polls.set(event.source, event);
    else if (event.type === 'poll-failed' && event.recorded) this.#polls.set(event.source, event.recorded);
    else if (event.type === 'batch-settled')
      this.#delivered.set(event.sink, this.deliveredTo(event.sink) + event.delivered);
  };

  /** How many deliveries of this run have reached a sink. */
  deliveredTo(sink: string): number {
    return this.#delivered.get(sink) ?? 0;
  }

  /** What the run read from a source: `50 listed, 3 new`. Undefined when it read nothing. */
  readFrom(source: string): string | undefined {
    const poll = this.#polls.get(source);
    if (!poll) return undefined;
    const changed = poll.changed > 0 ? `, ${poll.changed} changed` : '';
    const setAside = poll.rejected > 0 ? `, ${poll.rejected} set aside` : '';
    return `${poll.listed} listed, ${poll.new} new${changed}${setAside}`;
  }
}
