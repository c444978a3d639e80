import { hash } from 'node:crypto';
import type { Clock } from '../platform/time/clock.ts';
import { type Destination, DestinationError } from './destination.ts';
import type { Message, Notice } from './notice.ts';

/** What begins together is told together: so long the first notice waits for others, in ms. */
const GATHER_MS = 30_000;
/** Between two messages to one destination, in ms, at least. */
const SPACING_MS = 60_000;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** As many notices are kept for a destination that is down; of more, the oldest are left out. */
const MOST_WAITING = 100;

/** What became of a message. */
export type SendResult =
  | { readonly ok: true; readonly notices: number }
  | { readonly ok: false; readonly reason: string; readonly hint: string; readonly retryInMs: number };

/** The notices that wait for one destination. They go out together, never in a storm, and again and again until they arrive. */
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

  /** To be kept over a restart. */
  get waiting(): readonly Notice[] {
    return this.#waiting;
  }

  /** Resolves when no message is under way. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /** Sends there from now on, and at once: the next address may work where the former did not. */
  use(destination: Destination): void {
    this.#destination = destination;
    this.#failures = 0;
    this.#notBeforeMs = 0;
  }

  put(notices: readonly Notice[]): void {
    for (const notice of notices) this.#put(notice);
  }

  /** What is over, and was never told to have begun, is told once: its end says since when it was. */
  #put(notice: Notice): void {
    const isSame = ({ condition, about }: Notice) => condition === notice.condition && about === notice.about;
    const kept = this.#waiting.filter((one) => !isSame(one) || one.kind === 'over');
    this.#waiting = [...kept, notice].slice(-MOST_WAITING);
  }

  /** Sends what is due, unless a message is under way. Never waits for the destination: `done` is told what became of it. */
  pump(signal: AbortSignal, done: (sent: SendResult) => void): void {
    const [first] = this.#waiting;
    if (this.#sending || !first || signal.aborted) return;
    const now = this.#clock.now();
    if (this.#clock.monotonicMs() < this.#notBeforeMs) return;
    // A clock that was set back makes nobody wait for longer than from now.
    const waitedMs = Math.abs(now.getTime() - first.at.getTime());
    if (waitedMs < GATHER_MS) return;
    this.#sending = this.#send(messageOf(this.#waiting, now), signal, done).finally(() => {
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
      const retryInMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS);
      this.#failures += 1;
      this.#notBeforeMs = this.#clock.monotonicMs() + retryInMs;
      const known = error instanceof DestinationError;
      const reason = known ? error.message : 'The message could not be sent, for a fault in leadsync.';
      done({ ok: false, reason, hint: known ? error.hint : 'Please report it.', retryInMs });
    }
  }
}

/** The same notices are the same message, so that a receiver can tell a repeat. */
function messageOf(notices: readonly Notice[], at: Date): Message {
  return { id: `alert_${hash('sha256', JSON.stringify(notices)).slice(0, 32)}`, at, test: false, notices };
}
