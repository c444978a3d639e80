import { tryConnection } from '../../platform/http/try-connection.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { ApiServer, type CallLimits } from '../http/api-server.ts';
import { reachServer } from '../http/reach-server.ts';
import type { SinkParts } from '../sink-type.ts';
import { type Judged, judgeWebhook } from './judge-answer.ts';
import type { Payload } from './message.ts';
import type { SlackTransport } from './slack-transport.ts';

/** A Slack incoming webhook: it writes to its own channel, and cannot be asked what it has written. */
export class IncomingWebhook implements SlackTransport {
  readonly origin: string;
  readonly #url: URL;
  readonly #parts: SinkParts;
  readonly #server: ApiServer;

  constructor(url: Secret, parts: SinkParts) {
    this.#url = new URL(url.reveal());
    this.#parts = parts;
    this.origin = this.#url.origin;
    this.#server = new ApiServer(this.origin, parts);
  }

  /** Connects without a request, because every request would be a message. */
  async check(stop: AbortSignal): Promise<void> {
    const { timeoutMs } = this.#parts;
    const server = { origin: this.origin, timeoutMs };
    await reachServer(server, stop, () => tryConnection(this.#url, timeoutMs, stop));
  }

  bodyOf(payload: Payload): string {
    return JSON.stringify(payload);
  }

  target(): string {
    return `POST ${this.origin}/[secret]`;
  }

  headers(): Readonly<Record<string, string>> {
    return { 'content-type': 'application/json; charset=utf-8' };
  }

  async post(body: string, limits: CallLimits): Promise<Judged> {
    const path = this.#url.pathname + this.#url.search;
    const answer = await this.#server.call({ path, headers: this.headers(), body }, limits);
    return judgeWebhook(this.origin, answer);
  }

  async find(): Promise<undefined> {
    return undefined;
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}
