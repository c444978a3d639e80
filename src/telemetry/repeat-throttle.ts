/** Maximum number of lines of one kind that are written immediately (the burst). */
const BURST = 5;
/** Interval between further lines of that kind, in ms. Each is the latest line, with the number of lines left out. */
const INTERVAL_MS = 60_000;
/** Maximum number of kinds to remember. A line of a forgotten kind counts as the first of its kind. */
const MAX_KINDS = 1_000;

/** Source of time, which tests replace. */
export interface Time {
  monotonicMs(): number;
  /** Calls `work` after `ms`, unless the process has ended by then. */
  later(ms: number, work: () => void): void;
}

/** The real time. Its timers do not keep the process alive. */
export const processTime: Time = {
  monotonicMs: () => performance.now(),
  later: (ms, work) => void setTimeout(work, ms).unref(),
};

/** Writes a line. `more` is the number of similar lines left out before it. */
export type Write = (more: number) => void;

interface LineKind {
  /** Number of lines that may be written now. Grows by one every `INTERVAL_MS`. */
  room: number;
  countedMs: number;
  /** Latest line that was left out; `leftOut` counts the lines left out since the last written one. */
  last: Write | undefined;
  leftOut: number;
  /** Name of the thing whose state the lines report. */
  state: string | undefined;
}

/**
 * Keeps repeated lines from filling the log. Each kind of line has its own limit, so that no kind hides another. Within a minute, writes
 * the latest of the lines left out, so that the log ends with the current state.
 */
export class RepeatThrottle {
  readonly #kinds = new Map<string, LineKind>();
  readonly #time: Time;
  #waiting = false;

  constructor(time: Time) {
    this.#time = time;
  }

  /**
   * Writes a line now, or later if many lines of its kind came before. If the line reports the state of something, drops waiting lines about earlier
   * states of the same thing, which would appear after it and look current.
   */
  take(name: string, write: Write, state?: string): void {
    const kind = this.#kindOf(name);
    kind.state = state;
    if (state !== undefined) this.#forgetEarlier(state, kind);
    if (kind.last === undefined && kind.room >= 1) {
      kind.room -= 1;
      write(0);
    } else {
      kind.last = write;
      kind.leftOut += 1;
      this.#wait();
    }
  }

  /** Writes the waiting lines that are due, or all waiting lines if `atTheEnd`. */
  flush(atTheEnd = true): void {
    // The map is in the order in which each kind last occurred.
    for (const kind of this.#kinds.values()) {
      const { last, leftOut } = kind;
      this.#refill(kind);
      if (last === undefined || (kind.room < 1 && !atTheEnd)) continue;
      Object.assign(kind, { room: Math.max(0, kind.room - 1), last: undefined, leftOut: 0 });
      last(leftOut - 1);
    }
  }

  #kindOf(name: string): LineKind {
    const kind = this.#kinds.get(name) ?? {
      room: BURST,
      countedMs: this.#time.monotonicMs(),
      last: undefined,
      leftOut: 0,
      state: undefined,
    };
    this.#refill(kind);
    this.#kinds.delete(name);
    this.#kinds.set(name, kind);
    if (this.#kinds.size > MAX_KINDS) this.#forgetOldest();
    return kind;
  }

  #forgetEarlier(state: string, now: LineKind): void {
    for (const kind of this.#kinds.values())
      if (kind !== now && kind.state === state) Object.assign(kind, { last: undefined, leftOut: 0 });
  }

  #refill(kind: LineKind): void {
    const now = this.#time.monotonicMs();
    kind.room = Math.min(BURST, kind.room + (now - kind.countedMs) / INTERVAL_MS);
    kind.countedMs = now;
  }

  #forgetOldest(): void {
    const [oldest] = this.#kinds;
    if (oldest === undefined) return;
    const [name, { last, leftOut }] = oldest;
    this.#kinds.delete(name);
    last?.(leftOut - 1);
  }

  #wait(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#time.later(INTERVAL_MS / 4, () => {
      this.#waiting = false;
      this.flush(false);
      if (this.#kinds.values().some(({ last }) => last !== undefined)) this.#wait();
    });
  }
}
