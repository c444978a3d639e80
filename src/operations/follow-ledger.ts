import type { SinkHealth } from '../leads/sink-health.ts';
import type { FeedCursor, FeedEntry } from '../ledger/contract/feed-entries.ts';
import type { Ledger } from '../ledger/contract/ledger.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import type { Backlog } from '../ledger/contract/status-rows.ts';
import type { Clock } from '../platform/time/clock.ts';

/** A change of a sink's state: the sink was held, has recovered, was paused or was resumed. */
export interface SinkChange {
  readonly kind: 'sink';
  readonly at: Date;
  readonly sink: string;
  readonly what: 'held' | 'recovered' | 'paused' | 'resumed';
  readonly reason: string | undefined;
}

/** The ledger cannot be read (`away`), can be read again (`back`), or was replaced by another ledger (`another`). */
export interface LedgerChange {
  readonly kind: 'ledger';
  readonly at: Date;
  readonly what: 'away' | 'back' | 'another';
  readonly reason: string | undefined;
}

/** An event in the feed. */
export type FollowEvent = FeedEntry | SinkChange | LedgerChange;

/**
 * What `followLedger` works with. `open` is called at the start, and again each time the ledger was unreadable or replaced. `followLedger`
 * closes the ledgers that `open` returns.
 */
export interface FollowParts {
  readonly open: () => Promise<Ledger>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether to include lead content and the answers from destinations. */
  readonly withData: boolean;
}

/** Interval for checking for new events, in ms. */
const CHECK_INTERVAL_MS = 250;
/** Interval for trying to open an unreadable ledger, in ms. */
const AWAY_MS = 1_000;

/**
 * Yields the events of all processes from now on, until the signal aborts. If the ledger becomes unreadable, waits until it can be read
 * again; if it is still the same ledger, also yields the events that were recorded in the meantime. @throws LedgerError if the ledger
 * cannot be opened at the start
 */
export async function* followLedger(parts: FollowParts): AsyncGenerator<readonly FollowEvent[], void> {
  const { open, clock, signal } = parts;
  let followed = await FollowedLedger.begin(await open(), parts);
  try {
    for (let failed = false; !signal.aborted; ) {
      try {
        if (failed || (await followed.isReplaced())) {
          const again = await followed.reopen(await open());
          yield [ledgerChange(clock, again === followed ? 'back' : 'another')];
          followed = again;
        }
        failed = false;
        const happened = await followed.look();
        if (happened.length > 0) yield happened;
        else await clock.sleep(CHECK_INTERVAL_MS, signal);
      } catch (error) {
        if (!(error instanceof LedgerError)) throw error;
        if (error.code === 'replaced') {
          followed.endCursor();
          continue;
        }
        if (!failed) yield [ledgerChange(clock, 'away', error)];
        failed = true;
        await clock.sleep(AWAY_MS, signal);
      }
    }
  } finally {
    await followed.close();
  }
}

/** One ledger and its cursor. */
class FollowedLedger {
  readonly #parts: FollowParts;
  readonly #id: string;
  #ledger: Ledger;
  #cursor: FeedCursor;
  #sinks: readonly Backlog[];
  #more = true;
  /** Whether the ledger can no longer continue after the cursor. */
  #isEnded = false;

  private constructor(ledger: Ledger, cursor: FeedCursor, sinks: readonly Backlog[], parts: FollowParts) {
    this.#parts = parts;
    this.#ledger = ledger;
    this.#id = ledger.id;
    this.#cursor = cursor;
    this.#sinks = sinks;
  }

  static async begin(ledger: Ledger, parts: FollowParts): Promise<FollowedLedger> {
    return new FollowedLedger(ledger, await ledger.feedCursor(), await ledger.backlog(), parts);
  }

  async isReplaced(): Promise<boolean> {
    return this.#isEnded || (await this.#ledger.isReplaced());
  }

  /** Records that the ledger has another history than the cursor, so that it counts as replaced. */
  endCursor(): void {
    this.#isEnded = true;
  }

  /**
   * Continues with a reopened ledger. Returns this object if the cursor belongs to that ledger; otherwise returns a new object that starts at the
   * end of the other ledger.
   */
  async reopen(ledger: Ledger): Promise<FollowedLedger> {
    await this.close();
    if (this.#isEnded || ledger.id !== this.#id) return FollowedLedger.begin(ledger, this.#parts);
    this.#ledger = ledger;
    this.#more = true;
    return this;
  }

  async look(): Promise<readonly FollowEvent[]> {
    if (!(await this.#ledger.changedElsewhere()) && !this.#more) return [];
    const { clock, withData } = this.#parts;
    const { entries, cursor, more } = await this.#ledger.feed(this.#cursor, withData);
    const sinks = await this.#ledger.backlog();
    const changes = sinkChanges(this.#sinks, sinks, clock.now());
    this.#cursor = cursor;
    this.#more = more;
    this.#sinks = sinks;
    return [...entries, ...changes];
  }

  close(): Promise<void> {
    return this.#ledger.close();
  }
}

/** Returns the changes in the states of sinks. A new sink counts as neither held nor paused before. */
function sinkChanges(before: readonly Backlog[], after: readonly Backlog[], at: Date): SinkChange[] {
  return after.flatMap(({ sink, health }) => {
    const was = before.find((one) => one.sink === sink)?.health;
    return whatChanged(was, health).map((change) => ({ kind: 'sink', at, sink, ...change }));
  });
}

function whatChanged(was: SinkHealth | undefined, is: SinkHealth): Pick<SinkChange, 'what' | 'reason'>[] {
  const changes: Pick<SinkChange, 'what' | 'reason'>[] = [];
  if (is.heldSince && !was?.heldSince) changes.push({ what: 'held', reason: is.heldReason });
  if (is.pausedSince && !was?.pausedSince) changes.push({ what: 'paused', reason: is.pausedReason });
  if (was?.pausedSince && !is.pausedSince) changes.push({ what: 'resumed', reason: undefined });
  if (was?.heldSince && !is.heldSince && !is.pausedSince)
    changes.push({ what: 'recovered', reason: undefined });
  return changes;
}

function ledgerChange(clock: Clock, what: LedgerChange['what'], error?: LedgerError): LedgerChange {
  return { kind: 'ledger', at: clock.now(), what, reason: error?.message };
}
