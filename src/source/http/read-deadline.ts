import type { Clock } from '../../platform/time/clock.ts';
import { SourceError } from '../contract/source.ts';

/** The deadline for reading one whole listing, combined with the caller's signal. */
export class ReadDeadline {
  /** Aborts with a SourceError at the deadline, or when the caller's signal aborts. */
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

  /** Aborts the reading. */
  stop(): void {
    this.#cut.abort(stopped());
  }

  /** Releases the timer; call it when the reading has ended or failed. */
  end(): void {
    this.#over.abort();
  }
}

function stopped(): SourceError {
  return new SourceError('incomplete', 'leadsync stopped reading the listing before its end.', {
    hint: 'leadsync keeps the leads that it has read. The next poll starts at the beginning of the listing.',
  });
}

function tooLate(deadlineMs: number): SourceError {
  return new SourceError(
    'incomplete',
    `leadsync could not read the whole listing in ${deadlineMs / 1000} s.`,
    {
      hint: "If the listing is always this long or slow, raise the source's deadline.",
    },
  );
}
