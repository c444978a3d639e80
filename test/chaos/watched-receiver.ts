import type { ServerResponse } from 'node:http';
import type {
  ReceivedRequest,
  ReceiverAnswer,
  WebhookReceiver,
} from '../support/servers/webhook-receiver.ts';

/** A function that answers a request. */
export type Answer = Extract<ReceiverAnswer, (...args: never) => unknown>;

/** A request and its answer. Times are by `performance.now()`. */
export interface WatchedRequest {
  readonly request: ReceivedRequest;
  /** The second in which the sender says it sent the request: `webhook-timestamp`. */
  readonly sentMs: number;
  readonly atMs: number;
  /** When the head of the answer was sent; undefined until then, and if it was interrupted. */
  answeredMs: number | undefined;
  /** When the end of the answer was sent, or either side closed the connection. */
  endedMs: number | undefined;
}

/** A receiver that records when each request arrived and when it was answered. */
export class WatchedReceiver {
  /** The requests, oldest first. */
  readonly requests: WatchedRequest[] = [];
  readonly #receiver: WebhookReceiver;

  constructor(receiver: WebhookReceiver) {
    this.#receiver = receiver;
    this.takeAll();
  }

  /** Sets the answer to every request from now on. */
  answerAlways(answer: Answer): void {
    this.#receiver.answerAlways((request, res) => {
      this.requests.push(watch(request, res));
      return answer(request, res);
    });
  }

  /** Answers every request with 204 from now on. */
  takeAll(): void {
    this.answerAlways((_, res) => void res.writeHead(204).end());
  }
}

function watch(request: ReceivedRequest, res: ServerResponse): WatchedRequest {
  const atMs = performance.now();
  const sentMs = atMs - (Date.now() - Number(request.headers['webhook-timestamp']) * 1000);
  const watched: WatchedRequest = { request, sentMs, atMs, answeredMs: undefined, endedMs: undefined };
  // The head of an endless body is sent immediately.
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
