import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { addBoard, type BoardQueues } from './board.ts';
import { isOurHost } from './host-rule.ts';
import { sharedFor } from './shared-for.ts';

export interface AdminOptions {
  /** A name or an address, without brackets. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Why leadsync cannot do its work now, each in one plain sentence; none: it can. */
  readonly ready: () => readonly string[] | Promise<readonly string[]>;
  readonly registry: { readonly contentType: string; metrics(): Promise<string> };
  /** Which configuration is in force. */
  readonly configState: () => ConfigState;
  /** Puts the configuration's present text in force. */
  readonly reload: () => Promise<ReloadResult>;
  /** Queues to be shown by Bull Board; undefined: none are. */
  readonly boardQueues?: BoardQueues | undefined;
  readonly monotonicMs?: () => number;
}

export interface AdminServer {
  /** Where it listens, with the port that it got. */
  readonly url: string;
  /** Frees the port and ends every connection, those with a request under way too. */
  close(): Promise<void>;
}

/** Which configuration is in force; what is told over HTTP. */
export interface ConfigState {
  readonly generation: number;
  readonly loadedAt: Date;
  readonly stale: { readonly since: Date; readonly faults: readonly string[] } | undefined;
}

/** What came of a reload: what has changed, or what is wrong with the configuration. */
export type ReloadResult = { readonly applied: boolean; readonly generation: number } & Record<
  string,
  unknown
>;

/** How old an answer may be that is computed from the daemon's state, in ms: however often it is asked for. */
const SHARED_MS = 250;
const READY_PATIENCE_MS = 2_000;
const MAX_CONNECTIONS = 256;

/**
 * Starts the HTTP side of the daemon: probes and metrics, and the reload of its configuration.
 * @throws AdminAddressError when the address cannot be listened on
 */
export async function startAdmin(options: AdminOptions): Promise<AdminServer> {
  const app = boundedServer();
  refuseStrangers(app, options.host);
  addRoutes(app, options);
  if (options.boardQueues) await addBoard(app, options.boardQueues);
  try {
    return { url: await app.listen({ host: options.host, port: options.port }), close: () => app.close() };
  } catch (error) {
    await app.close();
    throw new AdminAddressError(codeOf(error), addressOf(options), error);
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
    const url = request.url.split('?', 1)[0] ?? '';
    if (app.hasRoute({ method: 'GET', url: '/queues' }) && /^\/queues(\/|$)/.test(url)) return;
    const methods = (['GET', 'POST'] as const).filter((method) => app.hasRoute({ method, url }));
    const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    if (allowed.length === 0) return plain(reply, 404, 'There is nothing here');
    if (!allowed.includes(request.method)) {
      const what = methods.includes('GET') ? 'This can only be read' : 'This is asked for by POST';
      return plain(reply.header('allow', allowed.join(', ')), 405, what);
    }
    if (request.method === 'POST' && !isOwnPage(request.headers))
      return plain(reply, 403, 'A page of another origin cannot ask for this');
  });
}

/** A browser says which page asks (https://fetch.spec.whatwg.org/#origin-header, https://www.w3.org/TR/fetch-metadata/); other clients say nothing. */
function isOwnPage({ origin, host, 'sec-fetch-site': site }: FastifyRequest['headers']): boolean {
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}

function addRoutes(
  app: FastifyInstance,
  { ready, registry, configState, reload, ...options }: AdminOptions,
): void {
  const monotonicMs = options.monotonicMs ?? (() => performance.now());
  const metrics = sharedFor(SHARED_MS, () => registry.metrics(), monotonicMs);
  const unready = sharedFor(SHARED_MS, () => reasonsOf(ready), monotonicMs);
  app.get('/livez', (_request, reply) => plain(reply, 200, 'ok'));
  app.get('/readyz', async (_request, reply) => {
    const reasons = await unready();
    const ready = reasons.length === 0;
    return reply.code(ready ? 200 : 503).send({ ready, reasons });
  });
  app.get('/api/v1/configuration', async (_request, reply) => {
    const { generation, loadedAt, stale } = configState();
    return reply.send({ generation, loaded_at: loadedAt, stale: stale ?? null });
  });
  app.post('/-/reload', async (_request, reply) => {
    const result = await reload();
    return reply.code(result.applied ? 200 : 422).send(result);
  });
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await metrics()));
}

/** A check that fails or does not end is itself a reason not to be ready. */
async function reasonsOf(ready: AdminOptions['ready']): Promise<readonly string[]> {
  const answered = new AbortController();
  const late = sleep(READY_PATIENCE_MS, UNKNOWN, { signal: answered.signal });
  try {
    // `late` rejects only when it is called off, and then nobody listens any more.
    return await Promise.race([(async () => ready())().catch(() => UNKNOWN), late]);
  } finally {
    late.catch(() => undefined);
    answered.abort();
  }
}

const UNKNOWN: readonly string[] = ['leadsync could not be asked how it is; see its log.'];

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

/** The admin address cannot be listened on. */
export class AdminAddressError extends Error {
  override readonly name = 'AdminAddressError';
  /** The system's code: `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`, `ENOTFOUND`, … */
  readonly code: string;
  /** What the operator can do next. */
  readonly hint: string;

  constructor(code: string, address: string, cause: unknown) {
    super(`Cannot listen on ${address}: ${REASONS[code] ?? code}.`, { cause });
    this.code = code;
    this.hint = HINTS[code] ?? 'Set admin.listen to an address of this machine and a free port.';
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no host of that name',
};

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Stop that process (perhaps another leadsync), or set admin.listen to another port.',
  EACCES: 'Set admin.listen to a port from 1024 up.',
};
