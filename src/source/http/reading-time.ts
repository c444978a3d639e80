import type { Clock } from '../../platform/time/clock.ts';
import { SourceError } from '../contract/source.ts';

/** The time in which one whole listing has to be read: until its deadline, and while the caller wants it. */
export class ReadingTime {
  /** Aborts, with a SourceError as its reason, at the deadline and when the caller's signal does. */
  readonly signal: AbortSignal;
  readonly #cut = new AbortController();
  readonly #over = new AbortController();

  constructor(deadlineMs: number, caller: AbortSignal, clock: Clock) {
    this.signal = this.#cut.signal;
    caller.addEventListener('abort', () => this.stop(), { once: true, signal: this.#over.signal });
    if (caller.aborted) this.stop();
    void clock.sleep(deadlineMs, this.#over.signal).then(() => {
      if (!this.#over.signal.aborted) this.#cut.abort(tooLate(deadlineMs));
      this.end();
    });
  }

  /** Breaks off what is under way. */
  stop(): void {
    this.#cut.abort(stopped());
  }

  /** To be called when the reading is over, whatever came of it. */
  end(): void {
    this.#over.abort();
  }
}

function stopped(): SourceError {
  return new SourceError('incomplete', 'The listing was not read to its end, because reading was stopped.', {
    hint: 'It is read from its beginning the next time; what was read until now is kept.',
  });
}

function tooLate(deadlineMs: number): SourceError {
  return new SourceError(
    'incomplete',
    `The listing could not be read to its end in ${deadlineMs / 1000} s.`,
    {
      hint: 'If it is always as long or as slow as that, raise the deadline of the source.',
    },
  );
}
