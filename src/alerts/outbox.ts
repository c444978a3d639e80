import { hash } from 'node:crypto';
import type { Clock } from '../platform/time/clock.ts';
import { type Destination, DestinationError } from './destination.ts';
import type { Installation, Message, Notice } from './notice.ts';

/** Time that the first notice waits for others, in ms, so that related problems arrive in one message. */
const GATHER_MS = 30_000;
/** Minimum time between two messages to one destination, in ms. */
const SPACING_MS = 60_000;
const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 3_600_000;
/** Maximum number of notices that wait for a destination. If there are more, the oldest are dropped. */
const MAX_WAITING = 100;

/** Result of sending a message. */
export type SendResult =
  | { readonly ok: true; readonly notices: number }
  | { readonly ok: false; readonly reason: string; readonly hint: string; readonly retryInMs: number };

/** Notices that wait for one destination. Sends them together, at a limited rate, and retries until they arrive. */
export class Outbox {
  #destination: Destination;
  readonly #clock: Clock;
  #waiting: readonly Notice[];
  #sending: Promise<void> | undefined;
  #notBeforeMs = 0;
  #failures = 0;

  constructor(destination: Destination, clock: Clock, waiting: readonly Notice[] = []) {
    this.#destination = destination;
    this.#clock = clock;
    this.#waiting = waiting;
  }

  /** Notices that must survive a restart. */
  get waiting(): readonly Notice[] {
    return this.#waiting;
  }

  /** Resolves when no message is being sent. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /** Replaces the destination and ends the backoff, because the new address may work. The next `pump` can send. */
  use(destination: Destination): void {
    this.#destination = destination;
    this.#failures = 0;
    this.#notBeforeMs = 0;
  }

  /** Adds notices to those that wait. */
  put(notices: readonly Notice[]): void {
    for (const notice of notices) this.#put(notice);
  }

  /**
   * Adds a notice. Drops an unsent notice that the same condition has started or still holds, because the new notice also states the start.
   * Keeps an unsent notice that the condition is over.
   */
  #put(notice: Notice): void {
    const isSame = ({ condition, about }: Notice) => condition === notice.condition && about === notice.about;
    const kept = this.#waiting.filter((one) => !isSame(one) || one.kind === 'over');
    this.#waiting = [...kept, notice].slice(-MAX_WAITING);
  }

  /**
   * Starts to send the waiting notices if they are due and no message is being sent. Does not wait for the destination. Calls `done` with
   * the result, unless `signal` cancels the message.
   */
  pump(from: Installation, signal: AbortSignal, done: (sent: SendResult) => void): void {
    const [first] = this.#waiting;
    if (this.#sending || !first || signal.aborted) return;
    const now = this.#clock.now();
    if (this.#clock.monotonicMs() < this.#notBeforeMs) return;
    // The absolute value prevents a clock that was set back from delaying the message.
    const waitedMs = Math.abs(now.getTime() - first.at.getTime());
    if (waitedMs < GATHER_MS) return;
    this.#sending = this.#send(messageOf(this.#waiting, from, now), signal, done).finally(() => {
      this.#sending = undefined;
    });
  }

  async #send(message: Message, signal: AbortSignal, done: (sent: SendResult) => void): Promise<void> {
    try {
      await this.#destination.send(message, signal);
      this.#waiting = this.#waiting.filter((notice) => !message.notices.includes(notice));
      this.#failures = 0;
      this.#notBeforeMs = this.#clock.monotonicMs() + SPACING_MS;
      done({ ok: true, notices: message.notices.length });
    } catch (error) {
      if (signal.aborted) return;
      const retryInMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS);
      this.#failures += 1;
      this.#notBeforeMs = this.#clock.monotonicMs() + retryInMs;
      const known = error instanceof DestinationError;
      const reason = known ? error.message : 'The message could not be sent because of an internal error.';
      done({ ok: false, reason, hint: known ? error.hint : 'Please report it.', retryInMs });
    }
  }
}

/** Returns the message that contains the notices. Its id depends on the notices alone, so that a receiver recognises a repeat. */
function messageOf(notices: readonly Notice[], from: Installation, at: Date): Message {
  return {
    id: `alert_${hash('sha256', JSON.stringify(notices)).slice(0, 32)}`,
    at,
    from,
    test: false,
    notices,
  };
}
