import type { Delivery } from '../../leads/delivery.ts';
import type { DestinationRecord } from '../../leads/outcome.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { ApiServer, type CallLimits } from '../http/api-server.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { findPosted, metadataOf, type Posted } from './find-posted.ts';
import { apiFailure, type Judged, judgePosted, readApiAnswer } from './judge-answer.ts';
import type { Payload } from './message.ts';
import type { SlackTransport } from './slack-transport.ts';

/** Errors of a search that a later attempt would also get: the app may not read the channel. */
const NOT_ALLOWED = new Set([
  'missing_scope',
  'not_in_channel',
  'channel_not_found',
  'is_archived',
  'no_permission',
  'access_denied',
  'not_allowed_token_type',
  'method_not_supported_for_channel_type',
  'unknown_method',
]);

/** The owner and the scopes of a token, according to `auth.test`. */
export interface TokenFacts {
  /** The address of the workspace, without a trailing slash; undefined if Slack does not report it. */
  readonly teamUrl: string | undefined;
  /** `leadsync in Example Ltd`, without secrets. */
  readonly who: string;
  /** What the token may do; undefined if Slack does not report it. */
  readonly scopes: readonly string[] | undefined;
}

/** Slack's Web API with a bot token: leadsync chooses the channel and can search for its own messages. */
export class SlackApi implements SlackTransport {
  readonly origin: string;
  readonly #base: URL;
  readonly #token: Secret;
  readonly #server: ApiServer;
  #teamUrl: string | undefined;

  constructor(base: string, token: Secret, parts: SinkParts) {
    this.#base = new URL(base);
    this.#token = token;
    this.origin = this.#base.origin;
    this.#server = new ApiServer(this.origin, parts);
  }

  /** Asks Slack whose token it is. @throws SinkUnavailable if the token cannot write */
  async check(stop: AbortSignal): Promise<TokenFacts> {
    const limits = { stop, confirmLease: () => undefined };
    const { answer, header } = await this.#ask('auth.test', {}, limits);
    const scopes = header('x-oauth-scopes')
      ?.split(/[,\s]+/)
      .filter(Boolean);
    const { url, user, team } = answer;
    this.#teamUrl =
      typeof url === 'string' && /^https?:\/\/[\w.:-]+\/?$/.test(url) ? url.replace(/\/$/, '') : undefined;
    if (scopes && !scopes.includes('chat:write'))
      throw new SinkUnavailable(`${this.origin} accepts the token, but the token may not write messages.`, {
        hint: 'Add the scope chat:write to the Slack app and install it again.',
        unsent: true,
      });
    return { teamUrl: this.#teamUrl, who: `${String(user)} in ${String(team)}`, scopes };
  }

  bodyOf(payload: Payload, channel: string, deliveries: readonly Delivery[]): string {
    return JSON.stringify({ channel, ...payload, metadata: metadataOf(deliveries) });
  }

  target(): string {
    return `POST ${this.#base.href}/chat.postMessage`;
  }

  headers(): Readonly<Record<string, string>> {
    return { authorization: 'Bearer [secret]', 'content-type': 'application/json; charset=utf-8' };
  }

  async post(body: string, limits: CallLimits): Promise<Judged> {
    const headers = { ...this.headers(), ...this.#authorization() };
    const answer = await this.#server.call({ path: this.#path('chat.postMessage'), headers, body }, limits);
    return judgePosted(this.origin, answer, (channel, ts) => this.#refOf(channel, ts));
  }

  /** Returns the messages about deliveries in a channel; undefined if the app may not read the channel. @throws SinkUnavailable */
  async find(
    channel: string,
    deliveries: readonly Delivery[],
    limits: CallLimits,
  ): Promise<Posted<DestinationRecord> | undefined> {
    const found = await findPosted(channel, deliveries, async (parameters) => {
      const { answer } = await this.#ask('conversations.history', parameters, limits, NOT_ALLOWED);
      return answer.ok ? answer : undefined;
    });
    if (!found) return undefined;
    const refs = [...found.messages].map(([id, ts]) => [id, this.#refOf(channel, ts)] as const);
    return { ...found, messages: new Map(refs) };
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  /** Calls a method that takes parameters. Returns its answer if that is `ok` or has one of the errors in `expected`. @throws SinkUnavailable */
  async #ask(
    method: string,
    parameters: Readonly<Record<string, string>>,
    limits: CallLimits,
    expected: ReadonlySet<string> = new Set(),
  ) {
    const headers = { ...this.#authorization(), 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams(parameters).toString();
    const got = await this.#server.call({ path: this.#path(method), headers, body }, limits);
    const answer = readApiAnswer(got);
    if (answer && (answer.ok || expected.has(String(answer.error)))) return { answer, header: got.header };
    throw unsent(apiFailure(this.origin, got));
  }

  #authorization() {
    return { authorization: `Bearer ${this.#token.reveal()}` };
  }

  #path(method: string): string {
    return `${this.#base.pathname.replace(/\/$/, '')}/${method}`;
  }

  /** Returns the reference to a message. It has an address only after `check` has read the workspace's address. */
  #refOf(channel: string, ts: string): DestinationRecord {
    const url = this.#teamUrl && `${this.#teamUrl}/archives/${channel}/p${ts.replace('.', '')}`;
    return { object: 'message', id: `${channel}/${ts}`, url };
  }
}

/** Returns the failure of a request that only reads, marked as unsent, because such a request delivers nothing. */
function unsent({ message, hint, answer, httpStatus, retryAfterMs, gone }: SinkUnavailable): SinkUnavailable {
  return new SinkUnavailable(message, { hint, answer, httpStatus, retryAfterMs, gone, unsent: true });
}
