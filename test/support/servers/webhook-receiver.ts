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
  /** The exact bytes of the body. */
  readonly body: Buffer;
  readonly at: Date;
  /** The status of the answer once it was sent completely; undefined until then, or if it never was. */
  status?: number;
}

/** The receiver's answer to a request: a status, a status with headers and body, or a function that writes the response. */
export type ReceiverAnswer =
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | ((request: ReceivedRequest, res: ServerResponse) => void | Promise<void>);

/** A server that receives webhooks and keeps them. */
export interface WebhookReceiver {
  readonly url: string;
  /** Every request whose body arrived completely, oldest first, whatever its answer; with `kept`, only the last ones. */
  readonly received: readonly ReceivedRequest[];
  /** Sets the answers to the next requests, in order; later requests get 204. */
  answerNext(...answers: readonly ReceiverAnswer[]): void;
  /** Sets the answer to every request from now on. */
  answerAlways(answer: ReceiverAnswer): void;
  /** Resolves once no client is connected: by then, everything that an ended process sent has been read and answered. */
  disconnected(): Promise<void>;
  close(): Promise<void>;
}

export interface WebhookReceiverOptions {
  readonly port?: number;
  /** Number of requests to keep in `received`, for receivers that get many; all by default. */
  readonly kept?: number;
  /** Called for each request, before the answer. */
  readonly onRequest?: (request: ReceivedRequest) => void;
}

/** Starts a receiver on 127.0.0.1 that answers every request with 204. */
export async function startWebhookReceiver(options: WebhookReceiverOptions = {}): Promise<WebhookReceiver> {
  const received: ReceivedRequest[] = [];
  const next: ReceiverAnswer[] = [];
  let always: ReceiverAnswer = 204;
  const connected = new Set<Socket>();
  const server = createServer(async (req, res) => {
    try {
      const request = await readRequest(req);
      received.push(request);
      if (received.length > (options.kept ?? Number.POSITIVE_INFINITY)) received.shift();
      res.once('finish', () => {
        request.status = res.statusCode;
      });
      options.onRequest?.(request);
      await answer(next.shift() ?? always, request, res);
    } catch (error) {
      // The sender disconnected in the middle of its request: nothing was received.
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
      for (let turns = 0; turns < 2; turns += 1) await turn(); // meanwhile, the server accepts waiting connections
      await until('every connection to the receiver has ended', () => connected.size === 0);
      await turn(); // the answer to the last request comes after its connection has closed
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
