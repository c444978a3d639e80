import type { Files } from '../platform/files/files.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Emit } from '../telemetry/events.ts';
import { AlertFile, type AlertState } from './alert-file.ts';
import { AlertTracker, type Evaluation } from './alert-tracker.ts';
import type { Notice } from './notice.ts';
import { type AlertOptions, openDestination } from './options.ts';
import { Outbox, type SendResult } from './outbox.ts';

/** What the alerts work with. `file` is theirs alone: of the processes on a data directory, one has alerts. */
export interface AlertParts {
  readonly clock: Clock;
  readonly files: Files;
  /** Where its state is kept. */
  readonly file: string;
  readonly emit: Emit;
  /** Rewrites the commands in a text into what its readers type; absent: they type what it says. */
  readonly asTyped?: (text: string) => string;
}

/** How long a stop waits for an answer, in ms. */
const STOP_MS = 1_000;

/** Tells people what is wrong: remembers what was told, and sends notices until they arrive. */
export class Alerts {
  readonly #parts: AlertParts;
  readonly #file: AlertFile;
  readonly #stopping = new AbortController();
  readonly #tracker: AlertTracker;
  #options: AlertOptions | undefined;
  #outboxes: ReadonlyMap<string, Outbox> = new Map();
  /** By destination: what an earlier process has not sent. */
  readonly #left: AlertState['waiting'];
  #unkept: string | undefined;

  private constructor(parts: AlertParts, file: AlertFile, { entries, waiting }: AlertState) {
    this.#parts = parts;
    this.#file = file;
    this.#tracker = new AlertTracker(entries);
    this.#left = waiting;
  }

  /** Goes on with what an earlier process kept. */
  static async open(parts: AlertParts): Promise<Alerts> {
    const file = new AlertFile(parts.files, parts.file);
    return new Alerts(parts, file, await file.read());
  }

  /** Takes how every condition is at a moment, sends what is due by the options in force, and keeps what has changed. */
  async take(judged: readonly Evaluation[], at: Date, options: AlertOptions): Promise<void> {
    this.#configure(options);
    const { asTyped = (text) => text } = this.#parts;
    const taken = this.#tracker.take(judged, at);
    const notices = taken.map((notice) => ({
      ...notice,
      what: asTyped(notice.what),
      next: asTyped(notice.next),
    }));
    for (const notice of notices) this.#parts.emit(eventOf(notice));
    for (const [name, outbox] of this.#outboxes) {
      outbox.put(notices);
      outbox.pump(this.#stopping.signal, (sent) => this.#report(name, sent));
    }
    await this.#keep();
  }

  /** Gives what is being sent a moment, then cuts it off: that is sent again after the next start. */
  async stop(): Promise<void> {
    const enough = new AbortController();
    await Promise.race([this.idle(), this.#parts.clock.sleep(STOP_MS, enough.signal)]);
    enough.abort();
    this.#stopping.abort();
    await this.idle();
    if (this.#options) await this.#keep();
  }

  /** Resolves when no message is under way. */
  async idle(): Promise<void> {
    await Promise.all([...this.#outboxes.values()].map((outbox) => outbox.idle()));
  }

  /** What waits for a destination that stays goes on waiting, for its new address where it has one. */
  #configure(options: AlertOptions): void {
    if (options === this.#options) return;
    this.#options = options;
    this.#outboxes = new Map(
      Object.entries(options.to).map(([name, to]) => [name, this.#outboxFor(name, to)]),
    );
  }

  #outboxFor(name: string, to: AlertOptions['to'][string]): Outbox {
    const { clock } = this.#parts;
    const destination = openDestination(to, clock);
    const outbox = this.#outboxes.get(name);
    outbox?.use(destination);
    return outbox ?? new Outbox(destination, clock, this.#left[name]);
  }

  #report(to: string, sent: SendResult): void {
    const { emit } = this.#parts;
    if (sent.ok) emit({ type: 'alert-sent', to, notices: sent.notices });
    else emit({ type: 'alert-unsent', to, reason: sent.reason, hint: sent.hint, retryInMs: sent.retryInMs });
    // At once: whoever is killed now must not tell it again after the restart.
    if (sent.ok) void this.#keep();
  }

  /** A disk that is full is told of by an alert of its own, and must not end the alerts. */
  async #keep(): Promise<void> {
    const waiting = Object.fromEntries([...this.#outboxes].map(([name, outbox]) => [name, outbox.waiting]));
    try {
      await this.#file.write({ entries: this.#tracker.entries, waiting });
      this.#unkept = undefined;
    } catch (error) {
      const code = String((error as { code?: unknown }).code ?? 'unknown');
      if (code !== this.#unkept) this.#parts.emit({ type: 'alerts-unkept', reason: code });
      this.#unkept = code;
    }
  }
}

function eventOf({ kind, condition, about, since, at, what, next }: Notice) {
  const shared = { condition, about: about ?? '', reason: what };
  if (kind !== 'over') return { type: 'alert' as const, ...shared, hint: next, lasts: kind === 'lasts' };
  return { type: 'alert-over' as const, ...shared, lastedMs: at.getTime() - since.getTime() };
}
