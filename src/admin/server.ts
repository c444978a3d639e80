import cookie from '@fastify/cookie';
import Fastify, { type FastifyInstance } from 'fastify';
import { LOGIN_PATH, type LoginFailed } from '../identity/contract.ts';
import type { NamedToken, TrustedHeader } from '../platform/options/role.ts';
import { AdminAddressError } from './address-error.ts';
import { addApi } from './api/register.ts';
import type { Configuration } from './contract/configuration.ts';
import type { LoginProvider } from './contract/login-provider.ts';
import type { Operations, ReloadResult } from './contract/operations.ts';
import { may } from './contract/rights.ts';
import { Access } from './gate/access.ts';
import { type Audit, auditRecorder, withAudit } from './gate/audit.ts';
import { addGate, rejectBadAddress } from './gate/gate.ts';
import { addOidcLogin } from './gate/oidc-login.ts';
import { addLogin } from './gate/token-login.ts';
import { cachedFor } from './http/cached-for.ts';
import { limitConnections } from './http/connection-limit.ts';
import { trustedProxies } from './http/proxies.ts';
import { throttleRequests } from './http/request-throttle.ts';
import { requestErrorFor, sendError } from './http/send-error.ts';
import { registerPages } from './pages/register.ts';
import { addProbes, type ProbeOptions } from './probes.ts';
import { addBoard, type BoardQueues } from './queue-board.ts';

/**
 * Where the admin server listens, whom it answers, and what it shows and does. An option that a reload can change is a function,
 * which the server calls for each request.
 */
export interface AdminOptions extends ProbeOptions {
  /** Host name or address, without brackets. */
  readonly host: string;
  /** Port; 0 picks an unused one. */
  readonly port: number;
  /** Host names that requests may use, in addition to those that `isAllowedHost` always accepts. */
  readonly hosts: () => readonly string[];
  /** The address at which people open the pages, without a trailing slash. */
  readonly publicUrl?: () => string | undefined;
  /** Addresses and CIDR blocks of trusted proxies, whose forwarding headers the server uses. */
  readonly proxies: () => readonly string[];
  /**
   * Tokens that a client may send. If there are no tokens, no trusted header and no OpenID provider, a server on loopback requires no
   * credential, and any other server serves only routes that need no credential.
   */
  readonly tokens: () => readonly NamedToken[];
  /** The header in which a trusted proxy names the person. */
  readonly header?: () => TrustedHeader | undefined;
  /** The OpenID provider that logs people in to the pages. */
  readonly login?: () => LoginProvider | undefined;
  /** Reports a failed login at the OpenID provider. */
  readonly onLoginFailed?: (failure: LoginFailed) => void;
  /** Whether the server listens on a loopback address. */
  readonly loopback: boolean;
  readonly version: string;
  /** Id of this process, sent with every response. */
  readonly instance: string;
  /** Secret that a command of this machine sends if it has recorded its action in the audit log itself. */
  readonly recordKey?: string;
  /** Returns the configuration in force. */
  readonly configuration: () => Promise<Configuration>;
  /** Reloads the configuration file. */
  readonly reload: () => Promise<ReloadResult>;
  /** Operations of the pages and the API. If undefined, as in a worker, the server has no pages, and only the configuration route of the API. */
  readonly operations: Operations | undefined;
  /** Queues that Bull Board shows. Undefined if there is no board. */
  readonly boardQueues?: BoardQueues | undefined;
  /** Rewrites each `leadsync …` command in a text to the form that works in this installation. */
  readonly rewriteCommands?: (text: string) => string;
  readonly audit: Audit;
  readonly monotonicMs?: () => number;
}

/** A server that is already listening. */
export interface AdminServer {
  /** URL of the server, with the actual port. */
  readonly url: string;
  /** Frees the port and closes every connection, even one with a request in progress. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 256;
/** Maximum age of the cached overview, in ms. The pages and the API share the cache. */
const OVERVIEW_MS = 1_000;

/**
 * Starts the HTTP server of the daemon: probes, metrics, reload, pages and API.
 * @throws AdminAddressError if the server cannot listen on the address
 */
export async function startAdmin(options: AdminOptions): Promise<AdminServer> {
  const { host, port } = options;
  const app = boundedServer(options);
  try {
    await addRoutes(app, options);
    await app.ready();
  } catch (error) {
    await app.close();
    throw error;
  }
  try {
    return { url: await app.listen({ host, port }), close: () => app.close() };
  } catch (error) {
    await app.close();
    throw new AdminAddressError({ host, port }, error);
  }
}

function boundedServer({ onFault, proxies }: AdminOptions): FastifyInstance {
  const app = Fastify({
    logger: false,
    trustProxy: trustedProxies(proxies),
    bodyLimit: 1024,
    requestTimeout: 10_000,
    keepAliveTimeout: 10_000,
    http: { maxHeaderSize: 8 * 1024, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: true,
    frameworkErrors: (_error, request, reply) => rejectBadAddress(request, reply),
  });
  // Skips the pipelined requests of a connection that is already closed, because no client would get the answer.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.raw.socket.destroyed) reply.hijack();
    else done();
  });
  // Some clients send a content type without a body.
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) =>
    body === '' ? done(null) : parseJson(request, body as string, done),
  );
  limitConnections(app.server, MAX_CONNECTIONS);
  throttleRequests(app.server);
  app.setErrorHandler((error, request, reply) => sendError(request, reply, requestErrorFor(error, onFault)));
  return app;
}

async function addRoutes(app: FastifyInstance, options: AdminOptions): Promise<void> {
  const { monotonicMs = () => performance.now(), tokens, loopback, audit } = options;
  const { header = () => undefined, login = () => undefined, onLoginFailed = () => undefined } = options;
  const { publicUrl = () => undefined } = options;
  const isProxy = trustedProxies(options.proxies);
  const access = new Access({ tokens, header, login, isProxy, loopback, publicUrl, monotonicMs });
  await app.register(cookie);
  const record = auditRecorder(audit);
  addGate(app, {
    hosts: options.hosts,
    access,
    record,
    instance: options.instance,
    recordKey: options.recordKey,
  });
  addProbes(app, options, monotonicMs);
  app.post('/-/reload', { config: { operation: 'reload' } }, async (_request, reply) => {
    await record('reload');
    const result = await options.reload();
    return reply.code(statusOf(result)).send(result);
  });
  if (!options.operations) {
    app.get('/api/v1/configuration', { config: { operation: 'configuration' } }, () =>
      options.configuration(),
    );
    return;
  }
  const operations: Operations = {
    ...withAudit(options.operations, record),
    overview: cachedOverview(options.operations.overview, monotonicMs),
  };
  await addApi(app, operations, options.onFault);
  addDescription(app, options.version);
  if (options.boardQueues) await addBoard(app, options.boardQueues);
  const pageParts = {
    operations,
    onFault: options.onFault,
    ...(options.rewriteCommands && { rewriteCommands: options.rewriteCommands }),
  };
  const pages = registerPages(app, pageParts, () => {
    const label = login()?.provider.label;
    return {
      token: tokens().length > 0,
      ...(label !== undefined && { provider: { label, path: LOGIN_PATH } }),
    };
  });
  await addLogin(app, { access, record, pages, login });
  addOidcLogin(app, { access, record, pages, login, onLoginFailed, monotonicMs });
}

/** Returns the HTTP status of a reload: 422 if the file has faults, and 503 if leadsync could not apply it although it is valid. */
function statusOf({ applied, failure }: ReloadResult): 200 | 422 | 503 {
  if (applied) return 200;
  return typeof failure === 'string' ? 503 : 422;
}

/** Returns the overview with a cache for each of its two forms: with and without the origins of secrets. */
function cachedOverview(overview: Operations['overview'], monotonicMs: () => number): Operations['overview'] {
  const cached = () => cachedFor(OVERVIEW_MS, overview, monotonicMs);
  const [withOrigins, withoutOrigins] = [cached(), cached()];
  return () => (may('configuration') ? withOrigins() : withoutOrigins());
}

function addDescription(app: FastifyInstance, version: string): void {
  let document: Promise<string> | undefined;
  app.get('/api/v1/openapi.json', { config: { operation: 'description' } }, async (_request, reply) => {
    document ??= import('./api/openapi.ts').then(({ describeApi }) => describeApi(version));
    return reply.type('application/json; charset=utf-8').send(await document);
  });
}
