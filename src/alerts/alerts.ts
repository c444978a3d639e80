import type { Clock } from '../platform/time/clock.ts';
import type { Emit } from '../telemetry/events.ts';
import type { AlertState, AlertStore } from './alert-store.ts';
import { AlertTracker, type Evaluation } from './alert-tracker.ts';
import type { Installation, Notice } from './notice.ts';
import { type AlertOptions, openDestination } from './options.ts';
import { Outbox, type SendResult } from './outbox.ts';

/** Dependencies of `Alerts`. Only one process per data directory sends alerts, so no other process uses `store`. */
export interface AlertParts {
  readonly clock: Clock;
  readonly store: AlertStore;
  readonly emit: Emit;
  /** Rewrites each `leadsync …` command in text to the form that works in this installation. If absent, the text stays unchanged. */
  readonly rewriteCommands?: (text: string) => string;
}

/** Maximum time that `stop` waits for messages in progress, in ms. */
const STOP_MS = 1_000;

/** Sends alerts: tracks which conditions were reported, and keeps an outbox of unsent notices for each destination. */
export class Alerts {
  readonly #parts: AlertParts;
  readonly #stopping = new AbortController();
  readonly #tracker: AlertTracker;
  #options: AlertOptions | undefined;
  #outboxes: ReadonlyMap<string, Outbox> = new Map();
  /** Notices that an earlier process did not send, by destination. */
  readonly #unsent: AlertState['waiting'];
  /** Error code of the last failed write; undefined after a successful one. */
  #writeError: string | undefined;

  private constructor(parts: AlertParts, { entries, waiting }: AlertState) {
    this.#parts = parts;
    this.#tracker = new AlertTracker(entries);
    this.#unsent = waiting;
  }

  /** Creates the alerts, with the state that an earlier process stored. */
  static async open(parts: AlertParts): Promise<Alerts> {
    return new Alerts(parts, await parts.store.read());
  }

  /** Processes the evaluations of all conditions: sends the notices that are due, and stores the new state. */
  async take(
    evaluations: readonly Evaluation[],
    at: Date,
    { options, from }: { readonly options: AlertOptions; readonly from: Installation },
  ): Promise<void> {
    this.#configure(options);
    const { rewriteCommands = (text) => text } = this.#parts;
    const taken = this.#tracker.take(evaluations, at);
    const notices = taken.map((notice) => ({
      ...notice,
      what: rewriteCommands(notice.what),
      next: rewriteCommands(notice.next),
    }));
    for (const notice of notices) this.#parts.emit(eventOf(notice));
    for (const [name, outbox] of this.#outboxes) {
      outbox.put(notices);
      outbox.pump(from, this.#stopping.signal, (sent) => this.#report(name, sent));
    }
    await this.#store();
  }

  /** Waits up to `STOP_MS` for messages in progress, then cancels the rest. leadsync sends the cancelled messages again after its next start. */
  async stop(): Promise<void> {
    const finished = new AbortController();
    await Promise.race([this.idle(), this.#parts.clock.sleep(STOP_MS, finished.signal)]);
    finished.abort();
    this.#stopping.abort();
    await this.idle();
    if (this.#options) await this.#store();
  }

  /** Resolves when no message is being sent. */
  async idle(): Promise<void> {
    await Promise.all([...this.#outboxes.values()].map((outbox) => outbox.idle()));
  }

  /** Applies new options. A destination that keeps its name keeps its unsent notices, even if its address has changed. */
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
    return outbox ?? new Outbox(destination, clock, this.#unsent[name]);
  }

  #report(to: string, sent: SendResult): void {
    const { emit } = this.#parts;
    if (sent.ok) emit({ type: 'alert-sent', to, notices: sent.notices });
    else emit({ type: 'alert-unsent', to, reason: sent.reason, hint: sent.hint, retryInMs: sent.retryInMs });
    // Stores immediately, so that a process that is killed now does not send the notice again after its restart.
    if (sent.ok) void this.#store();
  }

  /** Stores the state. Alerts continue if that fails, for example on a full disk; an event reports it once per error code. */
  async #store(): Promise<void> {
    const waiting = Object.fromEntries([...this.#outboxes].map(([name, outbox]) => [name, outbox.waiting]));
    try {
      await this.#parts.store.write({ entries: this.#tracker.entries, waiting });
      this.#writeError = undefined;
    } catch (error) {
      const code = String((error as { code?: unknown }).code ?? 'unknown');
      if (code !== this.#writeError) this.#parts.emit({ type: 'alerts-unkept', reason: code });
      this.#writeError = code;
    }
  }
}

function eventOf({ kind, condition, about, since, at, what, next }: Notice) {
  const shared = { condition, about: about ?? '', reason: what };
  if (kind !== 'over') return { type: 'alert' as const, ...shared, hint: next, lasts: kind === 'lasts' };
  return { type: 'alert-over' as const, ...shared, lastedMs: at.getTime() - since.getTime() };
}
