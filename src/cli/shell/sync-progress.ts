import type { Event } from '../../telemetry/events.ts';
import type { LogStream } from '../../telemetry/logger.ts';

const SHOW_MS = 200;

/**
 * Shows the progress of a sync: on a terminal in one line that it overwrites, elsewhere as a plain line every ten seconds.
 * Log lines pass through it, so that they do not mix with the progress line.
 */
export class Progress implements LogStream {
  readonly #stream: LogStream;
  /** The progress of each source's poll. */
  readonly #polls = new Map<string, { listed: number; recorded: number; rate: number }>();
  #delivered = 0;
  #pending: number | undefined;
  readonly #monotonicMs: () => number;
  #shownMs: number;
  #line = '';

  constructor(stream: LogStream, monotonicMs = () => performance.now()) {
    this.#stream = stream;
    this.#monotonicMs = monotonicMs;
    this.#shownMs = monotonicMs();
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  hasColors(): boolean {
    return this.isTTY && this.#stream.hasColors?.() === true;
  }

  readonly observe = (event: Event): void => {
    if (event.type === 'poll-progress') {
      const { listed, recorded, leadsPerSecond: rate } = event;
      this.#polls.set(event.source, { listed, recorded, rate });
    } else if (event.type === 'poll-finished') {
      this.#polls.set(event.source, { listed: event.listed, recorded: event.new + event.changed, rate: 0 });
    } else if (event.type === 'batch-settled') this.#delivered += event.delivered;
    else return;
    this.#show();
  };

  /** Sets the number of pending deliveries. */
  readonly pending = (count: number): void => {
    this.#pending = count;
    this.#show();
  };

  /** Writes a log line. */
  write(text: string): void {
    this.#clear();
    this.#stream.write(text);
    if (this.#line) this.#stream.write(this.#line);
  }

  /** Ends the progress line. */
  end(): void {
    if (this.#line) this.#stream.write('\n');
    this.#line = '';
  }

  #show(): void {
    const now = this.#monotonicMs();
    if (now - this.#shownMs < (this.isTTY ? SHOW_MS : 10_000)) return;
    this.#shownMs = now;
    const text = this.#text();
    if (!this.isTTY) {
      this.#stream.write(`${text}\n`);
      return;
    }
    this.#clear();
    this.#line = text;
    this.#stream.write(text);
  }

  #text(): string {
    const sum = (of: 'listed' | 'recorded' | 'rate') =>
      this.#polls.values().reduce((total, poll) => total + poll[of], 0);
    const rate = sum('rate') > 0 ? `, ${sum('rate')} leads/s` : '';
    const pending = this.#pending === undefined ? '' : `, ${this.#pending} pending`;
    return `${sum('listed')} listed, ${sum('recorded')} new or changed${rate}, ${this.#delivered} delivered${pending}`;
  }

  #clear(): void {
    if (this.#line) this.#stream.write('\r\u001b[K');
  }
}
