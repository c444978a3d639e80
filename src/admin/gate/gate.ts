import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { INSTANCE_HEADER, RECORDED_HEADER } from '../../platform/http/instance-header.ts';
import { actor } from '../contract/actor.ts';
import { RequestError } from '../contract/request-error.ts';
import { isAllowed, noRole, notAllowed } from '../contract/rights.ts';
import { type HostRule, isAllowedHost } from '../http/host-rule.ts';
import { clientAddress } from '../http/proxies.ts';
import { sendError } from '../http/send-error.ts';
import { type Access, type AnonymousClient, sendChallenge } from './access.ts';
import type { RecordAudit } from './audit.ts';

/** Headers of every response. Pages replace the content security policy with their own; other responses may load nothing. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  // With `no-referrer`, browsers would send `Origin: null` with a form (https://fetch.spec.whatwg.org/#append-a-request-origin-header).
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** RFC 9110, section 15.5.20: this server does not answer for that host. */
const WRONG_HOST = new RequestError(
  421,
  'wrong-host',
  'leadsync does not answer under this host name.',
  'Use the IP address or localhost; or set admin.token, and add the name to admin.hosts.',
);
const OTHER_ORIGIN = new RequestError(
  403,
  'other-origin',
  'A page from another origin cannot send this request.',
  'If this is a page of leadsync behind a proxy, the proxy must pass the Host header on unchanged.',
);

const BAD_ADDRESS = new RequestError(
  400,
  'wrong-request',
  'This address is not valid.',
  'Two hexadecimal digits must follow each % in it.',
);

const TOO_MANY_GUESSES = new RequestError(
  429,
  'too-many',
  'Too many wrong tokens came from your address, and this one is wrong too.',
  'The right one is accepted at any time.',
);

/**
 * Adds the checks that run before every route and before a body is read: the host name, the origin, the credential, whether the route exists,
 * and whether the client's role may use it. Must be called before any route is added.
 */
export function addGate(
  app: FastifyInstance,
  {
    hosts,
    access,
    record,
    instance,
    recordKey,
  }: {
    hosts: () => readonly string[];
    access: Access;
    record: RecordAudit;
    instance: string;
    recordKey: string | undefined;
  },
): void {
  const routes = new Routes();
  const ruleNow = (): HostRule => ({ configured: hosts(), guarded: access.needed });
  app.addHook('onRoute', (route) => {
    routes.add(route);
    // Checked when the server is ready, because the hook that adds the operation to the routes of the queue board runs after this one.
    app.addHook('onReady', async () => requireOperation(route));
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS).header(INSTANCE_HEADER, instance);
    if (!hasAllowedHost(request, ruleNow()) && !isAsset(request))
      return sendError(request, reply, WRONG_HOST);
    if (request.method === 'POST' && !isOwnPage(request)) return sendError(request, reply, OTHER_ORIGIN);
    return undefined;
  });
  app.addHook('onRequest', (request, reply, done) => {
    const client = access.authenticate(request);
    if (client.who !== undefined)
      actor.run(isRecorded(request, recordKey) ? { ...client, isRecorded: true } : client, done);
    else rejectAnonymous(request, reply, client, record).then((isAnswered) => isAnswered || done(), done);
  });
  app.addHook('onRequest', async (request, reply) => {
    const allowed = routes.methodsAt(request.url);
    if (allowed.includes(request.method)) return rejectByRole(request, reply);
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    return sendError(request, reply, routeError(allowed));
  });
}

/** Whether the request comes from a command that has recorded its action, as only a process that may read the data directory can prove. */
function isRecorded({ headers }: FastifyRequest, recordKey: string | undefined): boolean {
  const key = headers[RECORDED_HEADER];
  return (
    typeof key === 'string' &&
    recordKey !== undefined &&
    timingSafeEqual(hash('sha256', key, 'buffer'), hash('sha256', recordKey, 'buffer'))
  );
}

/** Answers a request with an invalid path. No hook runs for it, so this function sets the headers. */
export function rejectBadAddress(request: FastifyRequest, reply: FastifyReply): void {
  void sendError(request, reply.headers(HEADERS), BAD_ADDRESS);
}

/**
 * Returns false if the route is open; otherwise rejects the client and returns true. In both cases, records a new wrong token in the audit
 * log: the address that sent it, never the token itself.
 */
async function rejectAnonymous(
  request: FastifyRequest,
  reply: FastifyReply,
  { guess, waitSeconds, withoutRole }: AnonymousClient,
  record: RecordAudit,
): Promise<boolean> {
  // The answer does not depend on the audit log. If the log cannot be written, the next action fails and reports it to the operator.
  if (guess) await record('token refused', { address: clientAddress(request) }).catch(() => undefined);
  if (isOpen(request)) return false;
  if (withoutRole !== undefined) await sendError(request, reply, noRole(withoutRole));
  else if (waitSeconds === 0) await sendChallenge(request, reply);
  else await sendError(request, reply.header('retry-after', waitSeconds), TOO_MANY_GUESSES);
  return true;
}

/** Throws if a route neither states its operation nor is open to everyone, so that no route can bypass the role check. */
function requireOperation({ config, url }: RouteOptions): void {
  if (config?.open || config?.operation !== undefined || url.startsWith('/assets/')) return;
  throw new Error(
    `The route ${url} needs \`config: { operation }\` (admin/contract/rights.ts), or \`open\`.`,
  );
}

/** Rejects a client whose role does not include the one that the route needs. */
function rejectByRole(request: FastifyRequest, reply: FastifyReply) {
  const client = actor.getStore();
  const { operation } = request.routeOptions.config;
  if (client === undefined || operation === undefined || isAllowed(client, operation)) return undefined;
  return sendError(request, reply, notAllowed(client, operation));
}

/** Whether the route needs no credential. */
function isOpen(request: FastifyRequest): boolean {
  return request.routeOptions.config?.open === true || isAsset(request);
}

/** Whether the request is for an asset. Assets hold no data, and the error pages and the login page load them. */
function isAsset({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url?.startsWith('/assets/') === true;
}

/** Whether the host names of a request are allowed: its own, and the one that a trusted proxy forwards. */
function hasAllowedHost({ headers, host, raw }: FastifyRequest, rule: HostRule): boolean {
  // With two Host headers, a proxy may have checked the other one (RFC 9112, section 3.2).
  if ((raw.headersDistinct['host']?.length ?? 0) > 1) return false;
  return isAllowedHost(headers.host, rule) && (host === '' || isAllowedHost(host, rule));
}

function routeError(allowed: readonly string[]): RequestError {
  if (allowed.length === 0)
    return new RequestError(
      404,
      'nothing-here',
      'There is no route at this address.',
      'The pages start at /; /api/v1/openapi.json describes the API.',
    );
  const what = allowed.includes('GET')
    ? 'This address is read-only.'
    : 'This address performs an action and cannot be read.';
  return new RequestError(405, 'wrong-method', what, `Use ${allowed.join(' or ')}.`);
}

/**
 * Whether a request can come from a page of this server, according to the headers `Origin` (https://fetch.spec.whatwg.org/#origin-header)
 * and `Sec-Fetch-Site` (https://www.w3.org/TR/fetch-metadata/). Clients other than browsers send neither header, and are accepted.
 */
function isOwnPage({ headers, host }: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** Finds the HTTP methods that a path supports, from the registered routes. */
class Routes {
  readonly #routes: { readonly path: RegExp; readonly method: string }[] = [];

  add({ method, url }: RouteOptions): void {
    const path = url
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('\\*', '.*')
      .replace(/:[a-z]+/gi, '[^/]+');
    for (const one of [method].flat()) this.#routes.push({ path: new RegExp(`^${path}$`), method: one });
  }

  methodsAt(url: string): string[] {
    const path = url.split('?', 1)[0] ?? '';
    return [...new Set(this.#routes.filter((route) => route.path.test(path)).map(({ method }) => method))];
  }
}
