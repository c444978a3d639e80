import cookie from '@fastify/cookie';
import Fastify, { type FastifyInstance } from 'fastify';
import { AdminAddressError } from './address-error.ts';
import { addApi } from './api/register.ts';
import { addBoard, type BoardQueues } from './board.ts';
import { actor } from './contract/actor.ts';
import type { Configuration } from './contract/model.ts';
import type { Operations, ReloadResult } from './contract/operations.ts';
import { Access } from './gate/access.ts';
import { type Audit, auditRecorder, withAudit } from './gate/audit.ts';
import { addGate, refuseBadAddress } from './gate/gate.ts';
import { addLogin } from './gate/login.ts';
import { requestErrorFor, sendError } from './http/answer.ts';
import { cachedFor } from './http/cached-for.ts';
import { limitConnections } from './http/connection-limit.ts';
import { trustedProxies } from './http/proxies.ts';
import { throttleRequests } from './http/request-throttle.ts';
import { registerPages } from './pages/register.ts';
import { addProbes, type ProbeOptions } from './probes.ts';

/**
 * Where the admin server listens, whom it answers, and what it shows and does. What a reload may change is a function,
 * and asked anew.
 */
export interface AdminOptions extends ProbeOptions {
  /** A name or an address, without brackets. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Names by which it may be reached, beside those that `isAllowedHost` answers by itself. A reload may change them. */
  readonly hosts: () => readonly string[];
  /** Proxies that may say for whom they ask: addresses and CIDR blocks. A reload may change them. */
  readonly proxies: () => readonly string[];
  /** What whoever asks has to show; undefined: nothing on loopback, and elsewhere nobody is answered. */
  readonly token: () => string | undefined;
  /** Whether only this machine reaches the address. */
  readonly loopback: boolean;
  readonly version: string;
  /** Names this process in every answer. */
  readonly instance: string;
  /** Which configuration is in force. */
  readonly configuration: () => Promise<Configuration>;
  /** Puts the configuration's present text in force. */
  readonly reload: () => Promise<ReloadResult>;
  /** What pages and API show and do; undefined where there are none: at a worker. */
  readonly operations: Operations | undefined;
  /** Queues to be shown by Bull Board; undefined: none are. */
  readonly boardQueues?: BoardQueues | undefined;
  /** Rewrites the commands in the texts of pages into what their readers can type. */
  readonly asTyped?: (text: string) => string;
  readonly audit: Audit;
  readonly monotonicMs?: () => number;
}

/** A server that listens already; closing it waits for nobody. */
export interface AdminServer {
  /** Where it listens, with the port that it got. */
  readonly url: string;
  /** Frees the port and ends every connection, those with a request under way too. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 256;
/** How old what pages tell over and over may be, in ms: however many look at it. */
const OVERVIEW_MS = 1_000;

/**
 * Starts the HTTP side of the daemon: probes and metrics, the reload of its configuration, pages and API.
 * @throws AdminAddressError when the address cannot be listened on
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
    frameworkErrors: (_error, request, reply) => refuseBadAddress(request, reply),
  });
  // What else came in the same read of a connection that was ended: nobody would get the answer.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.raw.socket.destroyed) reply.hijack();
    else done();
  });
  // Many a client names the type of a body that it does not send.
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
  const { monotonicMs = () => performance.now(), token, loopback, audit } = options;
  const access = new Access({ token, loopback, monotonicMs });
  await app.register(cookie);
  const record = auditRecorder(audit);
  addGate(app, { hosts: options.hosts, access, record, instance: options.instance });
  addProbes(app, options, monotonicMs);
  app.post('/-/reload', async (_request, reply) => {
    await record('reload');
    const result = await options.reload();
    return reply.code(result.applied ? 200 : 422).send(result);
  });
  if (!options.operations) {
    app.get('/api/v1/configuration', () => options.configuration());
    return;
  }
  const operations: Operations = {
    ...withAudit(options.operations, record),
    overview: cachedFor(OVERVIEW_MS, options.operations.overview, monotonicMs),
  };
  await addApi(app, operations, options.onFault);
  addDescription(app, options.version);
  if (options.boardQueues) await addBoard(app, options.boardQueues);
  const who = () => actor.getStore()?.who ?? 'unknown';
  const { sendLogin } = registerPages(app, {
    operations,
    who,
    onFault: options.onFault,
    ...(options.asTyped && { asTyped: options.asTyped }),
  });
  await addLogin(app, access, record, sendLogin);
}

function addDescription(app: FastifyInstance, version: string): void {
  let described: Promise<string> | undefined;
  app.get('/api/v1/openapi.json', async (_request, reply) => {
    described ??= import('./api/openapi.ts').then(({ describeApi }) => describeApi(version));
    return reply.type('application/json; charset=utf-8').send(await described);
  });
}
