import type { z } from 'zod';
import type { Clock } from '../platform/time/clock.ts';
import type { Message } from './notice.ts';

/** Where notices go. Made without opening a connection. */
export interface Destination {
  /** Sends one message. @throws DestinationError */
  send(message: Message, signal: AbortSignal): Promise<void>;
  /** Proves that a message could be sent, without sending one. @throws DestinationError */
  check(signal: AbortSignal): Promise<void>;
}

/** A message did not arrive, or nobody knows whether it did. In plain words, without any secret. */
export class DestinationError extends Error {
  override readonly name = 'DestinationError';
  /** What the operator can do next. */
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}

/** A type of destination: its name in the YAML, its options and how to make one. */
export interface DestinationType<Options extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  /** One sentence for the option reference. */
  readonly summary: string;
  readonly options: Options;
  open(options: z.output<Options>, clock: Clock): Destination;
}

/** Keeps the type of a destination's options from its schema to its `open`. */
export function defineDestination<Options extends z.ZodObject>(
  type: DestinationType<Options>,
): DestinationType<Options> {
  return type;
}
