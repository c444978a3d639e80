import type { Clock } from '../../platform/time/clock.ts';

/** How to detect a pause in a body, and how to stop reading during one. */
export interface PauseParts {
  readonly clock: Clock;
  /** Minimum wait for the next part that counts as a pause, in ms. */
  readonly pauseMs: number;
  /** Aborts the connection, which makes a pending read fail. There is no other way to end a pending read. */
  readonly cut: () => void;
}

/** Yields the parts of a body as they arrive, and `undefined` for each `pauseMs` without a part. */
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

/** One timer for all parts: a timer for each part would cost more than reading the part. */
class Alarm {
  readonly #parts: PauseParts;
  readonly #over = new AbortController();
  #ringing: Promise<boolean> | undefined;

  constructor(parts: PauseParts) {
    this.#parts = parts;
  }

  /** Whether `next` is still pending after `pauseMs`. Resolves to false as soon as it settles. */
  async isLate(next: Promise<unknown>): Promise<boolean> {
    const { clock, pauseMs } = this.#parts;
    const sinceMs = clock.monotonicMs();
    const settled = next.then(
      () => false,
      () => false, // the caller that awaits the part gets the error
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
      next.catch(() => undefined); // no caller awaits it any more
      cut();
    }
  }
}
