import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RawService {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Number of open connections. */
  readonly connections: number;
  readonly listingRequests: readonly IncomingMessage[];
}

/** An answer of the token endpoint, as JSON. */
export interface TokenAnswer {
  readonly status?: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A valid token. */
export const A_TOKEN = { access_token: 't', token_type: 'Bearer', expires_in: 7200 };

/**
 * Starts a service that answers a listing request exactly as the test says, byte by byte, and any token request with a token by default.
 */
export async function aRawService(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  token: TokenAnswer = { body: A_TOKEN },
): Promise<RawService> {
  const listingRequests: IncomingMessage[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    if (request.url === '/oauth/token') {
      request.resume();
      response.writeHead(token.status ?? 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(token.body));
      return;
    }
    listingRequests.push(request);
    answer(request, response);
  });
  server.on('connection', (socket) => {
    connections++;
    socket.on('close', () => connections--);
    socket.on('error', () => undefined); // the tests break connections on purpose
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: 'client',
    clientSecret: 'secret',
    get connections() {
      return connections;
    },
    listingRequests,
  };
}

/** Returns an answer whose body is sent in one piece. */
export function sends(
  body: string | Buffer,
  headers: Record<string, string> = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };
}
