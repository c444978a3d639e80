/** So many lines of one kind are written as they come; more are written one at a time, … */
const AT_ONCE = 5;
/** … this far apart, in ms: the last of those that came meanwhile, with how many they were. */
const APART_MS = 60_000;
/** More kinds than this are not remembered; what is forgotten is written as if it were new. */
const MOST_KINDS = 1_000;

/** Where the time comes from, so that tests can hold it. */
export interface Time {
  monotonicMs(): number;
  /** Does something in so many ms, unless the process has ended by then. */
  later(ms: number, work: () => void): void;
}

/** The time of this process, for which no timer keeps it alive. */
export const processTime: Time = {
  monotonicMs: () => performance.now(),
  later: (ms, work) => void setTimeout(work, ms).unref(),
};

/** Writes a line. `more` lines of its kind were left out before it. */
export type Write = (more: number) => void;

interface Kind {
  /** Lines that may be written now; grows by one every `APART_MS`. */
  room: number;
  countedMs: number;
  /** The last line that was left out, and how many were since one was written. */
  last: Write | undefined;
  leftOut: number;
  /** What it tells the state of. */
  state: string | undefined;
}

/**
 * Keeps what repeats from filling the log. Every kind of line has a measure of its own, so that nothing is hidden by
 * something else; and of what is left out the last is written within a minute, so that the log ends with how things are.
 */
export class RepeatThrottle {
  readonly #kinds = new Map<string, Kind>();
  readonly #time: Time;
  #waiting = false;

  constructor(time: Time) {
    this.#time = time;
  }

  /**
   * Writes the line now or, when many of its kind came before it, later. Where it tells the state of something, what waits of
   * that thing's earlier states is written no more, for it would stand behind this and be taken for how things are.
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

  /** Writes what was left out, at the end or when its time has come. */
  flush(atTheEnd = true): void {
    // They stand in the order in which they were last heard of, and are written in it.
    for (const kind of this.#kinds.values()) {
      const { last, leftOut } = kind;
      this.#refill(kind);
      if (last === undefined || (kind.room < 1 && !atTheEnd)) continue;
      Object.assign(kind, { room: Math.max(0, kind.room - 1), last: undefined, leftOut: 0 });
      last(leftOut - 1);
    }
  }

  #kindOf(name: string): Kind {
    const kind = this.#kinds.get(name) ?? {
      room: AT_ONCE,
      countedMs: this.#time.monotonicMs(),
      last: undefined,
      leftOut: 0,
      state: undefined,
    };
    this.#refill(kind);
    this.#kinds.delete(name);
    this.#kinds.set(name, kind);
    if (this.#kinds.size > MOST_KINDS) this.#forgetOldest();
    return kind;
  }

  #forgetEarlier(state: string, now: Kind): void {
    for (const kind of this.#kinds.values())
      if (kind !== now && kind.state === state) Object.assign(kind, { last: undefined, leftOut: 0 });
  }

  #refill(kind: Kind): void {
    const now = this.#time.monotonicMs();
    kind.room = Math.min(AT_ONCE, kind.room + (now - kind.countedMs) / APART_MS);
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
    this.#time.later(APART_MS / 4, () => {
      this.#waiting = false;
      this.flush(false);
      if (this.#kinds.values().some(({ last }) => last !== undefined)) this.#wait();
    });
  }
}
