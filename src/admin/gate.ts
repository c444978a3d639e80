import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { type Access, askForCredential } from './access.ts';
import { actor } from './actor.ts';
import { refuse } from './answer.ts';
import { isOurHost } from './host-rule.ts';
import { Refusal } from './refusal.ts';

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

const WRONG_HOST = new Refusal(
  421,
  'wrong-host',
  'This host name is not answered here.',
  'If it is yours, put it into admin.hosts.',
);
const OTHER_ORIGIN = new Refusal(
  403,
  'other-origin',
  'A page of another origin cannot ask for this.',
  'If this is the page itself, behind a proxy: the proxy has to pass the Host header on as it came.',
);

/**
 * Stands before everything, and answers before a body is read: by the name that was asked for, by the page that asks, by who
 * asks, and by what there is. To be called before any route is added.
 */
export function addGate(app: FastifyInstance, hosts: () => readonly string[], access: Access): void {
  const routes = new Routes();
  app.addHook('onRoute', (route) => routes.add(route));
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(HEADERS);
    // RFC 9110, section 15.5.20: not a host that this server answers for.
    if (!isOurHost(request.headers.host, hosts())) return void refuse(request, reply, WRONG_HOST);
    if (request.method === 'POST' && !isOwnPage(request.headers))
      return void refuse(request, reply, OTHER_ORIGIN);
    const asking = access.actorOf(request);
    if (!asking && !isOpen(request)) return void askForCredential(request, reply);
    const allowed = routes.methodsAt(request.url);
    if (!allowed.includes(request.method)) {
      if (allowed.length > 0) reply.header('allow', allowed.join(', '));
      return void refuse(request, reply, noSuch(allowed));
    }
    if (asking) actor.run(asking, done);
    else done();
  });
}

/** What the login page is made of is for everybody, as that page is. */
function isOpen({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config?.open === true || routeOptions.url?.startsWith('/assets/') === true;
}

function noSuch(allowed: readonly string[]): Refusal {
  if (allowed.length === 0)
    return new Refusal(
      404,
      'nothing-here',
      'There is nothing here.',
      'The pages begin at /; /api/v1/openapi.json describes the API.',
    );
  const what = allowed.includes('GET') ? 'This can only be read' : 'This is asked for by POST';
  return new Refusal(405, 'wrong-method', what, '');
}

/** A browser says which page asks (https://fetch.spec.whatwg.org/#origin-header, https://www.w3.org/TR/fetch-metadata/); other clients say nothing. */
function isOwnPage({ origin, host, 'sec-fetch-site': site }: FastifyRequest['headers']): boolean {
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
