import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CALLBACK_PATH, LOGIN_PATH, LoginFailed } from '../../identity/contract.ts';
import type { LoginProvider } from '../contract/login-provider.ts';
import { noRole } from '../contract/rights.ts';
import { clientAddress, originOf } from '../http/proxies.ts';
import { sendError } from '../http/send-error.ts';
import { type Access, SESSION_COOKIE } from './access.ts';
import { type RecordAudit, UNPROVED } from './audit.ts';
import { BegunLogins, LOGIN_MS } from './begun-logins.ts';
import { readCookie, setCookie } from './cookies.ts';
import { safeRedirect } from './safe-redirect.ts';
import { SESSION_MS } from './sessions.ts';
import type { LoginPages } from './token-login.ts';
import { TokenThrottle } from './token-throttle.ts';

/** Name of the cookie that binds begun logins to a browser. */
const LOGIN_COOKIE = 'leadsync_login';

const NOT_BEGUN =
  'This login did not begin in this browser within the last 10 minutes, or is already over. Log in again.';

/** Dependencies of the login at an OpenID provider. */
export interface OidcParts {
  readonly login: () => LoginProvider | undefined;
  readonly access: Access;
  readonly record: RecordAudit;
  readonly pages: LoginPages;
  /** Reports a failed login. */
  readonly onLoginFailed: (failure: LoginFailed) => void;
  readonly monotonicMs: () => number;
}

/**
 * Adds the login at an OpenID provider: `GET /login/oidc`, which begins it and redirects to the provider, and `GET /login/oidc/callback`, to which
 * the provider sends the browser back.
 */
export function addOidcLogin(app: FastifyInstance, parts: OidcParts): void {
  const { access, record, pages, monotonicMs } = parts;
  const begun = new BegunLogins(monotonicMs);
  const recorded = new TokenThrottle(monotonicMs);

  const isOneOfFew = (address: string, what: string) =>
    recorded.waitSeconds(address) === 0 && recorded.add(address, what);

  /**
   * Sends the login page with the failure. Records only the first few failures from an address, so that a client cannot flood the audit log and
   * the log.
   */
  const refuse = async (
    request: FastifyRequest,
    reply: FastifyReply,
    failure: LoginFailed,
    state: string,
    next: string,
  ) => {
    const address = clientAddress(request);
    if (isOneOfFew(address, state || failure.reason)) {
      const details = { via: 'oidc', address, reason: failure.reason };
      if (state !== '') await record('login refused', { ...UNPROVED, ...details });
      parts.onLoginFailed(failure);
    }
    return pages.sendLogin(reply.code(statusOf(failure)), {
      failure: `${failure.message} ${failure.hint}`,
      next,
    });
  };

  app.get(LOGIN_PATH, { config: { open: true } }, async (request, reply) => {
    const login = parts.login();
    const { next, here } = request.query as Readonly<Record<string, unknown>>;
    const to = safeRedirect(next);
    if (login === undefined) return reply.redirect('/login', 303);
    const origin = login.publicUrl ?? originOf(request);
    // The login must begin at the origin of the callback, which needs the cookie below. `here` prevents a loop if a proxy changes the host.
    if (URL.parse(origin)?.origin !== originOf(request) && here === undefined)
      return reply.redirect(`${origin}${LOGIN_PATH}?here=1&next=${encodeURIComponent(to)}`, 303);
    if (!login.origins.includes(origin))
      return pages.sendLogin(reply.code(400), { failure: notRegistered(origin, login.origins), next: to });
    try {
      const attempt = await login.provider.begin(origin + CALLBACK_PATH);
      const kept = { attempt, provider: login.provider.key, next: to };
      const isSecure = origin.startsWith('https:');
      const browser = begun.add(kept, clientAddress(request), readCookie(request, LOGIN_COOKIE, isSecure));
      // Lax, because the provider's redirect back comes from another site.
      setCookie(reply, LOGIN_COOKIE, browser, { isSecure, sameSite: 'lax', lastsMs: LOGIN_MS });
      return reply.redirect(attempt.address, 303);
    } catch (error) {
      if (error instanceof LoginFailed) return refuse(request, reply, error, '', to);
      throw error;
    }
  });

  app.get(CALLBACK_PATH, { config: { open: true } }, async (request, reply) => {
    const login = parts.login();
    const answer = new URL(request.url, 'http://localhost').searchParams;
    const state = answer.get('state') ?? '';
    const one = begun.take(state, readCookie(request, LOGIN_COOKIE, access.isSecure(request)) ?? '');
    if (login === undefined || one === undefined || one.provider !== login.provider.key)
      return pages.sendLogin(reply.code(400), { failure: NOT_BEGUN });
    try {
      const identity = await login.provider.finish(answer, one.attempt);
      const started = access.logInPerson(request, login, identity);
      if (started === undefined) {
        const { name: who, subject } = identity;
        const { issuer } = login.provider;
        const address = clientAddress(request);
        if (isOneOfFew(address, state))
          await record('login refused', {
            ...UNPROVED,
            who,
            via: 'oidc',
            address,
            subject,
            issuer,
            reason: 'role',
          });
        return sendError(request, reply, noRole({ who, via: 'oidc' }));
      }
      await record('login', { ...started.client });
      const isSecure = one.attempt.redirectUri.startsWith('https:') || access.isSecure(request);
      setCookie(reply, SESSION_COOKIE, started.session, {
        isSecure,
        sameSite: 'strict',
        lastsMs: SESSION_MS,
      });
      // Not a redirect, because a browser sends no strict cookie with a request that began at another site.
      return pages.sendOnward(reply, { title: 'Logged in', link: 'Continue', to: one.next });
    } catch (error) {
      if (error instanceof LoginFailed) return refuse(request, reply, error, state, one.next);
      throw error;
    }
  });
}

/** Explains why no login can begin at this origin: the provider would answer the unregistered redirect URI with its own error page. */
function notRegistered(origin: string, origins: readonly string[]): string {
  return `You opened the pages at ${origin}, but the provider sends people back only to ${origins.join(' or ')}. Open them there, or set admin.public_url to the address that people use. Behind a proxy, add its address to admin.trusted_proxies and configure it to send X-Forwarded-Proto.`;
}

function statusOf({ reason }: LoginFailed): number {
  if (reason === 'person') return 403;
  return reason === 'declined' || reason === 'expired' || reason === 'token' ? 401 : 502;
}
