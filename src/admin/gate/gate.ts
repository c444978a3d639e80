import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { INSTANCE_HEADER } from '../../platform/http/instance-header.ts';
import { actor } from '../contract/actor.ts';
import { RequestError } from '../contract/request-error.ts';
import { sendError } from '../http/answer.ts';
import { type HostRule, isAllowedHost } from '../http/host-rule.ts';
import { clientAddress } from '../http/proxies.ts';
import { type Access, type AnonymousClient, sendChallenge } from './access.ts';
import type { RecordAudit } from './audit.ts';

/** On every answer; pages say what they may load, and everything else may load nothing. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  // With `no-referrer`, browsers would not say which page posts a form (https://fetch.spec.whatwg.org/#append-a-request-origin-header).
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** RFC 9110, section 15.5.20: not a host that this server answers for. */
const WRONG_HOST = new RequestError(
  421,
  'wrong-host',
  'This host name is not answered here.',
  'Ask by address or as localhost; or set admin.token, and put the name into admin.hosts.',
);
const OTHER_ORIGIN = new RequestError(
  403,
  'other-origin',
  'A page of another origin cannot ask for this.',
  'If this is the page itself, behind a proxy: the proxy has to pass the Host header on as it came.',
);

const BAD_ADDRESS = new RequestError(
  400,
  'wrong-request',
  'This address cannot be read.',
  'A % in it has to be followed by two hexadecimal digits.',
);

const TOO_MANY_GUESSES = new RequestError(
  429,
  'too-many',
  'Too many wrong tokens came from your address.',
  'Wait a minute, then show the token of admin.token.',
);

/**
 * Stands before everything, and answers before a body is read: by the name that was asked for, by the page that asks, by who
 * asks, and by what there is. To be called before any route is added.
 */
export function addGate(
  app: FastifyInstance,
  {
    hosts,
    access,
    record,
    instance,
  }: { hosts: () => readonly string[]; access: Access; record: RecordAudit; instance: string },
): void {
  const routes = new Routes();
  const ruleNow = (): HostRule => ({ configured: hosts(), guarded: access.needed });
  app.addHook('onRoute', (route) => routes.add(route));
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS).header(INSTANCE_HEADER, instance);
    if (!hasAllowedHost(request, ruleNow()) && !isAsset(request))
      return sendError(request, reply, WRONG_HOST);
    if (request.method === 'POST' && !isOwnPage(request)) return sendError(request, reply, OTHER_ORIGIN);
    return undefined;
  });
  app.addHook('onRequest', (request, reply, done) => {
    const asking = access.authenticate(request);
    if (asking.who) actor.run(asking, done);
    else rejectAnonymous(request, reply, asking, record).then((isAnswered) => isAnswered || done(), done);
  });
  app.addHook('onRequest', async (request, reply) => {
    const allowed = routes.methodsAt(request.url);
    if (allowed.includes(request.method)) return undefined;
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    return sendError(request, reply, noSuch(allowed));
  });
}

/** Answers a request whose path cannot be read: it comes to no hook, and gets the same headers as every other. */
export function refuseBadAddress(request: FastifyRequest, reply: FastifyReply): void {
  void sendError(request, reply.headers(HEADERS), BAD_ADDRESS);
}

/** Answers a stranger; false where they may ask as well. Who guesses the token is written down, and the guess is not. */
async function rejectAnonymous(
  request: FastifyRequest,
  reply: FastifyReply,
  { guess, waitSeconds }: AnonymousClient,
  record: RecordAudit,
): Promise<boolean> {
  // They get nothing either way. That the audit log cannot be written, the next one hears who may do something.
  if (guess) await record('token refused', { address: clientAddress(request) }).catch(() => undefined);
  if (isOpen(request)) return false;
  if (waitSeconds === 0) await sendChallenge(request, reply);
  else await sendError(request, reply.header('retry-after', waitSeconds), TOO_MANY_GUESSES);
  return true;
}

/** What the login page is made of is for everybody, as that page is. */
function isOpen(request: FastifyRequest): boolean {
  return request.routeOptions.config?.open === true || isAsset(request);
}

/** Says nothing of anybody; a page that tells a refusal is made of it as well. */
function isAsset({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url?.startsWith('/assets/') === true;
}

/** A proxy that is trusted may name the host that it was asked for; the one that it asks for itself has to be ours too. */
function hasAllowedHost({ headers, host, raw }: FastifyRequest, rule: HostRule): boolean {
  // Of two names, a proxy before us may have looked at the other one (RFC 9112, section 3.2).
  if ((raw.headersDistinct['host']?.length ?? 0) > 1) return false;
  return isAllowedHost(headers.host, rule) && (host === '' || isAllowedHost(host, rule));
}

function noSuch(allowed: readonly string[]): RequestError {
  if (allowed.length === 0)
    return new RequestError(
      404,
      'nothing-here',
      'There is nothing here.',
      'The pages begin at /; /api/v1/openapi.json describes the API.',
    );
  const what = allowed.includes('GET')
    ? 'This can only be read.'
    : 'This does something, and is not to be read.';
  return new RequestError(405, 'wrong-method', what, `Ask for it by ${allowed.join(' or ')}.`);
}

/** A browser says which page asks (https://fetch.spec.whatwg.org/#origin-header, https://www.w3.org/TR/fetch-metadata/); other clients say nothing. */
function isOwnPage({ headers, host }: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** Which methods there are at a path. */
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
