import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A message that a channel has. */
export interface StoredMessage {
  readonly ts: string;
  readonly channel: string;
  /** The request's body as parsed. */
  readonly body: SlackBody;
}

/** The body of a message, as far as tests look at it. */
export interface SlackBody {
  readonly channel?: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  readonly metadata?: {
    readonly event_type: string;
    readonly event_payload: { readonly deliveries: string };
  };
  readonly [option: string]: unknown;
}

interface Block {
  readonly type: string;
  readonly text?: { readonly type: string; readonly text: string; readonly emoji?: boolean };
  readonly elements?: readonly { readonly type: string; readonly text: string }[];
}

/** A request to post a message. */
export interface PostRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly content: string;
}

/**
 * In place of what Slack would do with a request: an answer, which stores nothing; `cut`, which stores the message and closes the connection
 * without an answer; or `silent`, which never answers.
 */
export type StubAnswer =
  | {
      readonly status?: number;
      readonly headers?: Record<string, string>;
      readonly body: string | object;
      /** Whether the message is stored all the same. */
      readonly stores?: boolean;
    }
  | 'cut'
  | 'silent';

/** A substitute for Slack: the methods of its Web API that leadsync uses, and an incoming webhook. Enforces Slack's limits. */
export interface SlackStub {
  readonly apiUrl: string;
  readonly webhookUrl: string;
  /** The messages of all channels, oldest first. */
  readonly messages: StoredMessage[];
  /** Every request to post, whatever its answer. */
  readonly posts: readonly PostRequest[];
  /** Every method that was called, in order: `chat.postMessage`. */
  readonly calls: readonly string[];
  /** Answers to the next requests to post. */
  answerPosts(...answers: readonly StubAnswer[]): void;
  /** Answers by channel, for each message to it. */
  readonly channels: Record<string, string>;
  /** The answer of each method other than posting, in place of the usual one. */
  readonly methods: Record<string, StubAnswer>;
  /** Whether the stub stores messages and does not answer. */
  holdAnswers: boolean;
  /** Clock of the service, in seconds. */
  nowSeconds: () => number;
  close(): Promise<void>;
}

/** The bot token that the stub accepts. */
export const TOKEN = 'xoxb-1-secret';

/** Starts the stub on 127.0.0.1. */
export async function startSlackStub(): Promise<SlackStub> {
  const posts: PostRequest[] = [];
  const calls: string[] = [];
  const next: StubAnswer[] = [];
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let stored = 0;
  const stub: SlackStub = {
    apiUrl: `${origin}/api`,
    webhookUrl: `${origin}/services/T1/B1/secret`,
    messages: [],
    posts,
    calls,
    answerPosts: (...answers) => void next.push(...answers),
    channels: {},
    methods: {},
    holdAnswers: false,
    nowSeconds: () => Math.floor(Date.now() / 1000),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const content = Buffer.concat(chunks).toString();
    const path = request.url ?? '';
    if (path === '/services/T1/B1/secret')
      return receive('webhook', { path, headers: request.headers, content }, response);
    const method = path.replace('/api/', '');
    calls.push(method);
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return send(response, { ok: false, error: 'invalid_auth' });
    if (method === 'chat.postMessage')
      return receive('api', { path, headers: request.headers, content }, response);
    const answer = stub.methods[method];
    if (answer === 'silent') return;
    if (answer === 'cut') return void response.socket?.destroy();
    if (answer) return send(response, answer.body, answer.status, answer.headers);
    const parameters = new URLSearchParams(content);
    if (method === 'auth.test')
      return send(
        response,
        { ok: true, url: 'https://example-team.slack.com/', team: 'Example Team', user: 'leadsync' },
        200,
        { 'x-oauth-scopes': 'chat:write,channels:history' },
      );
    if (method === 'conversations.history') return send(response, history(parameters));
    send(response, { ok: false, error: 'unknown_method' });
  }

  function receive(way: 'api' | 'webhook', request: PostRequest, response: ServerResponse): void {
    posts.push(request);
    const answer = next.shift();
    if (answer === 'silent') return;
    if (answer !== undefined && answer !== 'cut') {
      if (answer.stores) store(way, JSON.parse(request.content) as SlackBody);
      send(response, answer.body, answer.status, answer.headers);
      return;
    }
    const body = JSON.parse(request.content) as SlackBody;
    const channel = way === 'webhook' ? 'C0WEBHOOK' : String(body.channel);
    const error = stub.channels[channel] ?? faultOf(body);
    if (error) {
      if (way === 'api') send(response, { ok: false, error });
      else send(response, error, 400);
      return;
    }
    const ts = store(way, body);
    if (stub.holdAnswers) return;
    if (answer === 'cut') return void response.socket?.destroy();
    send(response, way === 'webhook' ? 'ok' : { ok: true, channel, ts, message: { ...body, ts } });
  }

  function store(way: 'api' | 'webhook', body: SlackBody): string {
    stored += 1;
    const ts = `${stub.nowSeconds()}.${String(stored).padStart(6, '0')}`;
    stub.messages.push({ ts, channel: way === 'webhook' ? 'C0WEBHOOK' : String(body.channel), body });
    return ts;
  }

  /** Newest first, a page at a time, as Slack does. */
  function history(parameters: URLSearchParams): object {
    const own = stub.messages.filter(({ channel }) => channel === parameters.get('channel')).reverse();
    const from = Number(parameters.get('cursor') ?? 0);
    const limit = Number(parameters.get('limit') ?? 100);
    const shown = parameters.get('include_all_metadata') === 'true';
    const messages = own
      .slice(from, from + limit)
      .map(({ ts, body: { metadata, ...body } }) => ({ ...body, ts, ...(shown ? { metadata } : {}) }));
    const isLast = from + limit >= own.length;
    return {
      ok: true,
      messages,
      has_more: !isLast,
      response_metadata: { next_cursor: isLast ? '' : String(from + limit) },
    };
  }

  return stub;
}

function send(
  response: ServerResponse,
  body: string | object,
  status = 200,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Returns the error with which Slack refuses a message that exceeds its limits. */
function faultOf({ text, blocks = [] }: SlackBody): string | undefined {
  if (!text) return 'no_text';
  if (text.length > 40_000) return 'msg_too_long';
  const limits: Readonly<Record<string, number>> = { header: 150, section: 3_000 };
  const isWrong = blocks.some(({ type, text, elements }) => {
    const written = text?.text ?? elements?.[0]?.text ?? '';
    return written === '' || written.length > (limits[type] ?? 3_000);
  });
  return isWrong || blocks.length > 50 ? 'invalid_blocks' : undefined;
}
