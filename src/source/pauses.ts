import type { Clock } from '../platform/clock.ts';

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
  try {
    for (;;) {
      const next = iterator.next();
      while (await isLate(next, parts)) yield* pause(next, parts.cut);
      const part = await next;
      if (part.done) return;
      yield part.value;
    }
  } finally {
    await iterator.return?.();
  }
}

async function isLate(next: Promise<unknown>, { clock, pauseMs }: PauseParts): Promise<boolean> {
  const over = new AbortController();
  const settled = next.then(
    () => false,
    () => false, // whoever awaits the part hears of it
  );
  const late = await Promise.race([settled, clock.sleep(pauseMs, over.signal).then(() => true)]);
  over.abort('settled'); // without a reason, an error with its stack would be made for each part
  return late;
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
