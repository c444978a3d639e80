import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { until } from '../time/until.ts';

/** A webhook request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes. */
  readonly body: Buffer;
  readonly at: Date;
  /** What it was answered with, once all of the answer was sent; undefined until then, and when it never was. */
  status?: number;
}

/** What the receiver says to a request: a status, a status with more, or whatever it does with the response itself. */
export type ReceiverAnswer =
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | ((request: ReceivedRequest, res: ServerResponse) => void | Promise<void>);

/** A server that takes webhooks and keeps them. */
export interface WebhookReceiver {
  readonly url: string;
  /** Every request whose body arrived in full, oldest first, whatever it was answered with. */
  readonly received: readonly ReceivedRequest[];
  /** Answers of the next requests, one after the other; after them 204 again. */
  answerNext(...answers: readonly ReceiverAnswer[]): void;
  /** The answer to every request from now on. */
  answerAlways(answer: ReceiverAnswer): void;
  /** Resolves once nobody is connected: then everything that a process sent before it ended has been read, and met its answer. */
  disconnected(): Promise<void>;
  close(): Promise<void>;
}

export interface WebhookReceiverOptions {
  readonly port?: number;
  /** Called for each request, before it is answered. */
  readonly onRequest?: (request: ReceivedRequest) => void;
}

/** Starts a receiver on 127.0.0.1 that says 204 to everything. */
export async function startWebhookReceiver(options: WebhookReceiverOptions = {}): Promise<WebhookReceiver> {
  const received: ReceivedRequest[] = [];
  const next: ReceiverAnswer[] = [];
  let always: ReceiverAnswer = 204;
  const connected = new Set<Socket>();
  const server = createServer(async (req, res) => {
    try {
      const request = await readRequest(req);
      received.push(request);
      res.once('finish', () => {
        request.status = res.statusCode;
      });
      options.onRequest?.(request);
      await answer(next.shift() ?? always, request, res);
    } catch (error) {
      // The sender went away in the middle of its request: nothing has been received.
      if (!req.destroyed) throw error;
    }
  });
  server.on('connection', (socket: Socket) => {
    connected.add(socket);
    socket.once('close', () => connected.delete(socket));
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/leads`,
    received,
    answerNext: (...answers) => void next.push(...answers),
    answerAlways: (answer) => {
      always = answer;
    },
    disconnected: async () => {
      for (let turns = 0; turns < 2; turns += 1) await turn(); // in between, connections that wait are taken
      await until('nobody is connected to the receiver', () => connected.size === 0);
      await turn(); // a request that was read last is answered behind the end of its connection
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readRequest(req: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
  return {
    method: req.method ?? '',
    path: req.url ?? '',
    headers: req.headers,
    body: Buffer.concat(chunks),
    at: new Date(),
  };
}

async function answer(how: ReceiverAnswer, request: ReceivedRequest, res: ServerResponse): Promise<void> {
  if (typeof how === 'function') return how(request, res);
  const { status, headers = {}, body = '' } = typeof how === 'number' ? { status: how } : how;
  res.writeHead(status, headers);
  res.end(body);
}
