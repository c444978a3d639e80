import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { AdminError } from './admin-error.ts';
import { isOurHost } from './host-rule.ts';
import { sharedFor } from './shared-for.ts';

/** One thing that leadsync needs to do its work, and whether it is there. */
export interface ReadinessCheck {
  /** `ledger`, `carrier`. */
  readonly part: string;
  readonly ok: boolean;
  /** Why not, in one plain sentence. */
  readonly reason?: string | undefined;
}

export interface AdminOptions {
  /** A name or an address, without brackets. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly ready: () => Promise<readonly ReadinessCheck[]>;
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
  readonly monotonicMs: () => number;
}

export interface AdminServer {
  /** Where it listens, with the port that it got. */
  readonly url: string;
  /** Frees the port and ends every connection, those with a request under way too. */
  close(): Promise<void>;
}

/** How old an answer may be that is computed from the daemon's state, in ms: however often it is asked for. */
const SHARED_MS = 250;
const READY_PATIENCE_MS = 2_000;
const MAX_CONNECTIONS = 256;

/**
 * Starts the HTTP side of the daemon: probes and metrics, to be read and never to be written to.
 * @throws AdminError when the address cannot be listened on
 */
export async function startAdmin(options: AdminOptions): Promise<AdminServer> {
  const app = boundedServer();
  refuseStrangers(app, options.host);
  addRoutes(app, options);
  try {
    return { url: await app.listen({ host: options.host, port: options.port }), close: () => app.close() };
  } catch (error) {
    await app.close();
    throw new AdminError(codeOf(error), addressOf(options), error);
  }
}

function boundedServer(): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: 1024,
    requestTimeout: 10_000,
    keepAliveTimeout: 10_000,
    http: { maxHeaderSize: 8 * 1024, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: true,
    frameworkErrors: (_error, _request, reply) => void plain(reply, 400, 'Bad request'),
  });
  app.server.maxConnections = MAX_CONNECTIONS;
  app.setErrorHandler((_error, _request, reply) =>
    plain(reply, 500, 'This failed inside leadsync; see its log'),
  );
  app.setNotFoundHandler((_request, reply) => plain(reply, 404, 'There is nothing here'));
  return app;
}

/** Answered before a body is read: by the name that was asked for, and by the method. */
function refuseStrangers(app: FastifyInstance, host: string): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    // RFC 9110, section 15.5.20: not a host that this server answers for.
    if (!isOurHost(request.headers.host, host))
      return plain(reply, 421, 'This host name is not answered here');
    if (request.method === 'GET' || request.method === 'HEAD') return;
    const known = app.hasRoute({ method: 'GET', url: request.url.split('?', 1)[0] ?? '' });
    if (!known) return plain(reply, 404, 'There is nothing here');
    return plain(reply.header('allow', 'GET, HEAD'), 405, 'This can only be read');
  });
}

function addRoutes(app: FastifyInstance, { ready, metrics, monotonicMs }: AdminOptions): void {
  const shownMetrics = sharedFor(SHARED_MS, () => metrics.metrics(), monotonicMs);
  const readiness = sharedFor(SHARED_MS, () => readinessOf(ready), monotonicMs);
  app.get('/livez', (_request, reply) => plain(reply, 200, 'ok'));
  app.get('/readyz', async (_request, reply) => {
    const state = await readiness();
    return reply.code(state.ready ? 200 : 503).send(state);
  });
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await shownMetrics()));
}

/** A check that fails or does not end is itself a reason not to be ready. */
async function readinessOf(
  ready: AdminOptions['ready'],
): Promise<{ ready: boolean; checks: readonly ReadinessCheck[] }> {
  const timeout = new AbortController();
  const late = new Promise<readonly ReadinessCheck[]>((resolve) => {
    const timer = setTimeout(() => resolve([UNKNOWN]), READY_PATIENCE_MS);
    timeout.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
  const checks = await Promise.race([(async () => ready())().catch(() => [UNKNOWN]), late]);
  timeout.abort();
  return { ready: checks.every((check) => check.ok), checks };
}

const UNKNOWN: ReadinessCheck = {
  part: 'leadsync',
  ok: false,
  reason: 'Its parts could not be asked how they are; see the log.',
};

function plain(reply: FastifyReply, code: number, text: string): FastifyReply {
  return reply.code(code).type('text/plain; charset=utf-8').send(`${text}\n`);
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'unknown';
}

function addressOf({ host, port }: AdminOptions): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
