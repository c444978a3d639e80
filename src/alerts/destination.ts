import type { z } from 'zod';
import type { Clock } from '../platform/time/clock.ts';
import type { Message } from './notice.ts';

/** Receiver of notices. Opens no connection before the first call. */
export interface Destination {
  /** Sends one message. @throws DestinationError */
  send(message: Message, signal: AbortSignal): Promise<void>;
  /** Checks that the server answers and, if the protocol has a login, accepts it. Sends no message. @throws DestinationError */
  check(signal: AbortSignal): Promise<void>;
}

/** A message may not have arrived, or a check failed. The error message contains no secret. */
export class DestinationError extends Error {
  override readonly name = 'DestinationError';
  /** Next step for the operator. */
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}

/** A type of destination: its name in the configuration, its options and its factory. */
export interface DestinationType<Options extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  /** One sentence for the option reference. */
  readonly summary: string;
  readonly options: Options;
  open(options: z.output<Options>, clock: Clock): Destination;
}

/** Returns the type unchanged. Lets TypeScript infer the options of `open` from the schema. */
export function defineDestination<Options extends z.ZodObject>(
  type: DestinationType<Options>,
): DestinationType<Options> {
  return type;
}
