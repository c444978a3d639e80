import type { Delivery } from '../../leads/delivery.ts';
import type { ApiAnswer } from './judge-answer.ts';

/** The type of the metadata of leadsync's messages. */
const EVENT_TYPE = 'leadsync_leads';
/** Maximum number of messages in a page; Slack recommends up to 200. */
const PAGE = 100;
/** Maximum number of pages. Messages that are further back are not found. */
const MAX_PAGES = 20;
/** Maximum difference between the clocks of Slack and of this machine, in seconds. */
const MARGIN_SECONDS = 300;

/** Returns the metadata of a message, by which leadsync finds it in its channel. Contains ids of deliveries and no lead content. */
export function metadataOf(deliveries: readonly Delivery[]) {
  return { event_type: EVENT_TYPE, event_payload: { deliveries: deliveries.map(({ id }) => id).join(' ') } };
}

/** Reads a page of a channel, newest message first. Returns undefined if the app may not read the channel. @throws SinkUnavailable */
export type ReadPage = (parameters: Readonly<Record<string, string>>) => Promise<ApiAnswer | undefined>;

/** Result of a search for messages. */
export interface Posted<Message> {
  /** The messages that were found, by the id of each delivery in them. */
  readonly messages: ReadonlyMap<string, Message>;
  /** Whether the search was complete, so that a message that was not found does not exist. */
  readonly isWhole: boolean;
}

/**
 * Finds the messages about these deliveries in a channel, and returns their timestamps. Searches the newest messages, back to the time at
 * which the first of the leads was listed. Returns undefined if the app may not read the channel.
 */
export async function findPosted(
  channel: string,
  deliveries: readonly Delivery[],
  readPage: ReadPage,
): Promise<Posted<string> | undefined> {
  const wanted = new Set(deliveries.map(({ id }) => id));
  const since = Math.min(...deliveries.map(({ changedAt }) => changedAt.getTime())) / 1000 - MARGIN_SECONDS;
  const found = new Map<string, string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await readPage({
      channel,
      limit: String(PAGE),
      include_all_metadata: 'true',
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (answer === undefined) return undefined;
    const messages = Array.isArray(answer['messages']) ? answer['messages'].map(readMessage) : [];
    for (const { ts, deliveries: ids } of messages)
      for (const id of ids.filter((one) => wanted.has(one))) found.set(id, ts);
    cursor = cursorOf(answer);
    const isPast = messages.some(({ ts }) => Number(ts) < since);
    if (found.size === wanted.size || cursor === undefined || isPast)
      return { messages: found, isWhole: true };
  }
  return { messages: found, isWhole: false };
}

interface HistoryMessage {
  readonly ts?: unknown;
  readonly metadata?: {
    readonly event_type?: unknown;
    readonly event_payload?: { readonly deliveries?: unknown };
  };
}

function readMessage(message: unknown): { ts: string; deliveries: readonly string[] } {
  const { ts, metadata } = (message ?? {}) as HistoryMessage;
  const ids = metadata?.event_type === EVENT_TYPE ? metadata.event_payload?.deliveries : undefined;
  return { ts: String(ts), deliveries: typeof ids === 'string' ? ids.split(' ') : [] };
}

function cursorOf(answer: ApiAnswer): string | undefined {
  const metadata = answer['response_metadata'] as { readonly next_cursor?: unknown } | null | undefined;
  const cursor = metadata?.next_cursor;
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
}
