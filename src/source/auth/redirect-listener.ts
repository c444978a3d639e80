import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { codeOf } from '../../platform/failures/error-code.ts';
import { SourceError } from '../contract/source.ts';
import { loginAnswerIn } from './login-answer.ts';

const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];
const PATH = '/callback';

/** Listens on this machine for the redirect of a login (RFC 8252, section 7.3). */
export interface RedirectListener {
  readonly uri: string;
  /** Resolves with the address of the first GET request that answers the login with this state. */
  redirected(state: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * Listens at the configured address, or on a free port if none is configured. Returns undefined if the configured address is not an
 * http address on this machine. @throws SourceError if the port cannot be opened
 */
export async function listenForRedirect(
  configured: string | undefined,
): Promise<RedirectListener | undefined> {
  const url = new URL(configured ?? `http://127.0.0.1:0${PATH}`);
  if (url.protocol !== 'http:' || !LOOPBACK.includes(url.hostname)) return undefined;
  const server = createServer({ requestTimeout: 10_000 });
  server.listen(url.port === '' ? 80 : Number(url.port), url.hostname.replace(/[[\]]/g, ''));
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = codeOf(error) ?? 'unknown error';
    throw new SourceError('unreachable', `leadsync cannot listen for the browser at ${url.host} (${code}).`, {
      hint: 'Register a redirect_uri at the service, and configure it.',
      cause: error,
    });
  }
  if (configured === undefined) url.port = String((server.address() as AddressInfo).port);
  return new Listening(server, url);
}

class Listening implements RedirectListener {
  readonly uri: string;
  readonly #server: Server;
  readonly #url: URL;

  constructor(server: Server, url: URL) {
    this.#server = server;
    this.#url = url;
    this.uri = url.href;
  }

  redirected(state: string): Promise<string> {
    const arrived = Promise.withResolvers<string>();
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const at = URL.parse(request.url ?? '', this.#url.href);
      // Browsers also request icons, and any local process can connect: only a request with our state counts.
      const isOurs = at?.pathname === this.#url.pathname && loginAnswerIn(at)?.get('state') === state;
      const status = !isOurs ? 404 : request.method === 'GET' ? 200 : 405;
      answer(response, status);
      if (isOurs && status === 200) arrived.resolve(at.href);
    });
    return arrived.promise;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

const PAGES = {
  200: 'leadsync has received the answer. The terminal shows whether the login worked. You can close this page.\n',
  404: 'Not found.\n',
  405: 'leadsync accepts this answer by GET only.\n', // a client that sends HEAD or OPTIONS first may follow with GET: keep listening
};

function answer(response: ServerResponse, status: keyof typeof PAGES): void {
  response.writeHead(status, {
    ...(status === 405 && { allow: 'GET' }),
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer', // the address contains the code
    connection: 'close',
  });
  response.end(PAGES[status]);
}
