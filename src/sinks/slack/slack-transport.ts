import type { Delivery } from '../../leads/delivery.ts';
import type { DestinationRecord } from '../../leads/outcome.ts';
import type { CallLimits } from '../http/api-server.ts';
import type { Posted } from './find-posted.ts';
import type { Judged } from './judge-answer.ts';
import type { Payload } from './message.ts';

/** A way to write to Slack: with a bot token, or through an incoming webhook. */
export interface SlackTransport {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Verifies that messages can be posted, as far as that is possible without posting one. @throws SinkUnavailable */
  check(stop: AbortSignal): Promise<unknown>;
  /** Returns the body of the request that posts a message about deliveries. */
  bodyOf(payload: Payload, channel: string, deliveries: readonly Delivery[]): string;
  /** Returns the method and address of the request that posts a message, for a preview, without secrets. */
  target(): string;
  headers(): Readonly<Record<string, string>>;
  /** Posts a message. @throws SinkUnavailable if there is no answer */
  post(body: string, limits: CallLimits): Promise<Judged>;
  /** Finds the messages about deliveries in a channel. Returns undefined if leadsync may not search the channel. @throws SinkUnavailable */
  find(
    channel: string,
    deliveries: readonly Delivery[],
    limits: CallLimits,
  ): Promise<Posted<DestinationRecord> | undefined>;
  close(): Promise<void>;
}
