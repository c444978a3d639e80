import type { Emit } from './events.ts';

/** A unit of work in a trace. */
export interface Span {
  /** Value of the header that links requests to the span (https://www.w3.org/TR/trace-context/#traceparent-header). */
  readonly traceparent: string;
  /** Ends the span. Call it once. `error` is a short stable code, never text that can quote a lead. */
  end(attributes: Readonly<Record<string, string | number | undefined>>, error?: string): void;
}

/** Traces polls and attempts. Does not delay them, and never throws. */
export interface Tracing {
  /** Processes every event, and creates the span of each poll. */
  readonly observe: Emit;
  /** Starts the span of an attempt, linked to the polls that listed its leads, even if another process ran these polls. */
  attempt(batch: TracedBatch): Span;
  /** Sends the unsent spans. Waits for at most 2 s. */
  close(): Promise<void>;
}

/** The facts about a batch that the span of its attempt shows. Contains no text from a lead. */
export interface TracedBatch {
  readonly sink: string;
  readonly id: string;
  readonly deliveries: readonly { readonly poll?: number | undefined }[];
}

/** Options for tracing. `emit` receives an event if traces cannot be sent. */
export interface TracingParts {
  /** Environment, whose OTEL_… variables configure tracing. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Id of the ledger. Poll numbers are unique only within a ledger. */
  readonly ledgerId: string;
  readonly emit: Emit;
}
