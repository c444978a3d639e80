import type { Unavailable } from '../leads/outcome.ts';

/** The destination as a whole cannot be used now. The message is one plain sentence without text from a lead. */
export class SinkUnavailable extends Error {
  override readonly name = 'SinkUnavailable';
  /** The operator's next step. */
  readonly hint: string;
  // The fields below have the meanings that they have in `Unavailable`.
  readonly answer: string | undefined;
  readonly httpStatus: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly gone: boolean;
  readonly unsent: boolean;
  readonly mayHaveArrived: boolean | undefined;

  constructor(
    message: string,
    more: {
      hint: string;
      answer?: string | undefined;
      httpStatus?: number | undefined;
      retryAfterMs?: number | undefined;
      gone?: boolean;
      unsent?: boolean;
      mayHaveArrived?: boolean | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: more.cause });
    this.hint = more.hint;
    this.answer = more.answer;
    this.httpStatus = more.httpStatus;
    this.retryAfterMs = more.retryAfterMs;
    this.gone = more.gone ?? false;
    this.unsent = more.unsent ?? false;
    this.mayHaveArrived = more.mayHaveArrived;
  }

  /** Returns the error, marked as a failure before any part of a lead was sent. */
  beforeSending(): SinkUnavailable {
    return this.unsent ? this : new SinkUnavailable(this.message, { ...this, unsent: true, cause: this });
  }

  /** Returns the error as the outcome of one delivery. */
  toOutcome(): Unavailable {
    return {
      kind: 'unavailable',
      reason: this.hint === '' ? this.message : `${this.message} ${this.hint}`,
      httpStatus: this.httpStatus,
      answer: this.answer,
      retryAfterMs: this.retryAfterMs,
      gone: this.gone,
      unsent: this.unsent,
      mayHaveArrived: this.mayHaveArrived,
    };
  }
}

/** The lease of an attempt expired. The sink did not make the request, commit or rename that it was about to make. */
export class LeaseOver extends SinkUnavailable {
  constructor() {
    super('The lease of the attempt expired before leadsync could send.', { hint: '', unsent: true });
  }
}
