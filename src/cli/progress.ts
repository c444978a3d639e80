import type { Event } from '../telemetry/events.ts';
import type { LogStream } from '../telemetry/logger.ts';

const SHOW_MS = 200;

/**
 * Shows on a terminal how far long work is, in one line that is written over; elsewhere as plain lines, a few a minute.
 * Log lines go through it, so that they never run into the progress line.
 */
export class Progress implements LogStream {
  readonly #stream: LogStream;
  #listed = 0;
  #recorded = 0;
  #delivered = 0;
  #rate = 0;
  #shownMs = 0;
  #line = '';

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  hasColors(): boolean {
    return this.isTTY && this.#stream.hasColors?.() === true;
  }

  readonly observe = (event: Event): void => {
    if (event.type === 'poll-progress') {
      this.#listed = event.listed;
      this.#recorded = event.recorded;
      this.#rate = event.leadsPerSecond;
    } else if (event.type === 'poll-finished') {
      this.#listed = event.listed;
      this.#recorded = event.new + event.changed;
    } else if (event.type === 'batch-settled') this.#delivered += event.delivered;
    else return;
    this.#show();
  };

  /** Takes a line of the log. */
  write(text: string): void {
    this.#clear();
    this.#stream.write(text);
    if (this.#line) this.#stream.write(this.#line);
  }

  /** Ends the line that was written over. */
  end(): void {
    if (this.#line) this.#stream.write('\n');
    this.#line = '';
  }

  #show(): void {
    const now = performance.now();
    if (now - this.#shownMs < (this.isTTY ? SHOW_MS : 10_000)) return;
    this.#shownMs = now;
    const rate = this.#rate > 0 ? `, ${this.#rate} leads/s` : '';
    const text = `${this.#listed} listed, ${this.#recorded} new or changed${rate}, ${this.#delivered} deliveries done`;
    if (!this.isTTY) {
      this.#stream.write(`${text}\n`);
      return;
    }
    this.#clear();
    this.#line = text;
    this.#stream.write(text);
  }

  #clear(): void {
    if (this.#line) this.#stream.write('\r\u001b[K');
  }
}
