import type { ServerResponse } from 'node:http';
import type {
  ReceivedRequest,
  ReceiverAnswer,
  WebhookReceiver,
} from '../support/servers/webhook-receiver.ts';

/** What is done with a request and its response. */
export type Answer = Extract<ReceiverAnswer, (...args: never) => unknown>;

/** A request and how it was answered. Times are by `performance.now()`. */
export interface WatchedRequest {
  readonly request: ReceivedRequest;
  /** The second in which its sender says that it was sent: `webhook-timestamp`. */
  readonly sentMs: number;
  readonly atMs: number;
  /** When the head of its answer had gone out; undefined until then, and for one that was cut off. */
  answeredMs: number | undefined;
  /** When the answer's end had gone out, or one of the two had closed the connection. */
  endedMs: number | undefined;
}

/** A receiver that knows when each request came, and when it was answered. */
export class WatchedReceiver {
  /** Oldest first. */
  readonly requests: WatchedRequest[] = [];
  readonly #receiver: WebhookReceiver;

  constructor(receiver: WebhookReceiver) {
    this.#receiver = receiver;
    this.takeAll();
  }

  /** The answer to every request from now on. */
  answerAlways(answer: Answer): void {
    this.#receiver.answerAlways((request, res) => {
      this.requests.push(watch(request, res));
      return answer(request, res);
    });
  }

  /** 204 to every request from now on. */
  takeAll(): void {
    this.answerAlways((_, res) => void res.writeHead(204).end());
  }
}

function watch(request: ReceivedRequest, res: ServerResponse): WatchedRequest {
  const atMs = performance.now();
  const sentMs = atMs - (Date.now() - Number(request.headers['webhook-timestamp']) * 1000);
  const watched: WatchedRequest = { request, sentMs, atMs, answeredMs: undefined, endedMs: undefined };
  // An answer whose body never ends has its head out at once.
  setImmediate(() => {
    if (res.headersSent) watched.answeredMs ??= performance.now();
  });
  res.once('finish', () => {
    watched.answeredMs ??= performance.now();
  });
  res.once('close', () => {
    watched.endedMs = performance.now();
  });
  return watched;
}
