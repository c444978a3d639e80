import type { Emit } from './events.ts';

/** One piece of work in a trace. */
export interface Span {
  /** Names it to whoever is called meanwhile (https://www.w3.org/TR/trace-context/#traceparent-header). */
  readonly traceparent: string;
  /** Ends it, once. `error`: a short stable word for why it failed; never text that may hold a lead's. */
  end(attributes: Readonly<Record<string, string | number | undefined>>, error?: string): void;
}

/** Traces of polls and of attempts. Takes no time of theirs, and never throws. */
export interface Tracing {
  /** Takes every event; a poll's are made into its span. */
  readonly observe: Emit;
  /** Linked to the polls that listed its leads, whichever process read them and however long ago. */
  attempt(batch: TracedBatch): Span;
  /** Sends what has not been sent, for a moment. */
  close(): Promise<void>;
}

/** What a trace tells of an attempt; none of a lead's text. */
export interface TracedBatch {
  readonly sink: string;
  readonly id: string;
  readonly deliveries: readonly { readonly poll?: number | undefined }[];
}

/** What traces are made with. `emit` hears when they cannot be sent. */
export interface TracingParts {
  /** The environment: OTEL_… says whether, where and how. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Polls are numbered by ledger. */
  readonly ledgerId: string;
  readonly emit: Emit;
}
