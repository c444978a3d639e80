import type { Clock } from '../../platform/time/clock.ts';

/** How to tell that a body makes a pause, and how to leave it in one. */
export interface PauseParts {
  readonly clock: Clock;
  /** A wait for the next part that is longer, in ms, is a pause. */
  readonly pauseMs: number;
  /** Breaks the connection off: to be left, a body that is waited for has to fail. */
  readonly cut: () => void;
}

/** Gives the parts of a body as they come, and `undefined` each time that the next one has been waited for so long. */
export async function* withPauses(
  content: AsyncIterable<Buffer>,
  parts: PauseParts,
): AsyncGenerator<Buffer | undefined, void, void> {
  const iterator = content[Symbol.asyncIterator]();
  const alarm = new Alarm(parts);
  try {
    for (;;) {
      const next = iterator.next();
      while (await alarm.isLate(next)) yield* pause(next, parts.cut);
      const part = await next;
      if (part.done) return;
      yield part.value;
    }
  } finally {
    alarm.end();
    await iterator.return?.();
  }
}

/** One alarm at a time, for whichever part is waited for when it rings: one for each part would cost more than to read it. */
class Alarm {
  readonly #parts: PauseParts;
  readonly #over = new AbortController();
  #ringing: Promise<boolean> | undefined;

  constructor(parts: PauseParts) {
    this.#parts = parts;
  }

  /** True once `next` has been waited for so long; false when it has come, or failed. */
  async isLate(next: Promise<unknown>): Promise<boolean> {
    const { clock, pauseMs } = this.#parts;
    const sinceMs = clock.monotonicMs();
    const settled = next.then(
      () => false,
      () => false, // whoever awaits the part hears of it
    );
    for (let leftMs = pauseMs; leftMs > 0; leftMs = sinceMs + pauseMs - clock.monotonicMs()) {
      this.#ringing ??= clock.sleep(leftMs, this.#over.signal).then(() => true);
      if (!(await Promise.race([settled, this.#ringing]))) return false;
      this.#ringing = undefined;
    }
    return true;
  }

  end(): void {
    this.#over.abort('over');
  }
}

function* pause(next: Promise<unknown>, cut: () => void): Generator<undefined, void, void> {
  let goesOn = false;
  try {
    yield undefined;
    goesOn = true;
  } finally {
    if (!goesOn) {
      next.catch(() => undefined); // nobody wants it any more
      cut();
    }
  }
}
