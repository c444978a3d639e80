import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { LoginProvider } from '../contract/login-provider.ts';
import { clientAddress, originOf } from '../http/proxies.ts';
import { type Access, type AnonymousClient, SESSION_COOKIE } from './access.ts';
import { type RecordAudit, UNPROVED } from './audit.ts';
import { removeCookie, setCookie } from './cookies.ts';
import { safeRedirect } from './safe-redirect.ts';
import { SESSION_MS } from './sessions.ts';

/** The pages of login and logout. */
export interface LoginPages {
  /** Sends the login page. */
  sendLogin(
    reply: FastifyReply,
    page: {
      readonly failure?: string | undefined;
      readonly isTokenWrong?: boolean;
      readonly next?: string | undefined;
    },
  ): FastifyReply;
  /** Sends a page that opens another address automatically, without a script. `link` is the text of a link for browsers that do not do so. */
  sendOnward(
    reply: FastifyReply,
    page: { readonly title: string; readonly link: string; readonly to: string },
  ): FastifyReply;
}

const TOO_MANY =
  'This token is wrong, and many wrong ones came from your address. The right one is accepted at any time.';
const UNSENT = 'Your session had expired, so nothing was done. Log in, then try again.';

/** Dependencies of the login. */
export interface LoginParts {
  readonly access: Access;
  readonly record: RecordAudit;
  readonly pages: LoginPages;
  readonly login: () => LoginProvider | undefined;
}

/**
 * Adds `GET /login`; `POST /login`, which starts a session if `token` is right and then redirects to `next`; and `POST /logout`, which ends the
 * session and, if a login at the OpenID provider began it, the session there.
 */
export async function addLogin(app: FastifyInstance, parts: LoginParts): Promise<void> {
  const { access, record, pages } = parts;
  await app.register(formbody);
  /** Sends the login page again. Does not record a further wrong token from an address that has sent too many. */
  const refuse = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { guess, waitSeconds }: AnonymousClient,
    next: string,
  ) => {
    if (guess) await record('login refused', { ...UNPROVED, address: clientAddress(request) });
    if (waitSeconds === 0)
      return pages.sendLogin(reply.code(401), { failure: 'This token is wrong.', isTokenWrong: true, next });
    return pages.sendLogin(reply.code(429).header('retry-after', waitSeconds), {
      failure: TOO_MANY,
      isTokenWrong: true,
      next,
    });
  };
  app.get('/login', { config: { open: true } }, async (request, reply) => {
    const { next, unsent } = fieldsOf(request.query);
    if (!access.needed) return reply.redirect(next, 303);
    return pages.sendLogin(reply, { failure: unsent ? UNSENT : undefined, next });
  });
  app.post('/login', { config: { open: true } }, async (request, reply) => {
    const { token, next } = fieldsOf(request.body);
    if (!access.needed) return reply.redirect(next, 303);
    const login = access.logIn(request, token);
    if (!('session' in login)) return refuse(request, reply, login, next);
    await record('login', { ...login.client });
    const cookie = { isSecure: access.isSecure(request), sameSite: 'strict', lastsMs: SESSION_MS } as const;
    return setCookie(reply, SESSION_COOKIE, login.session, cookie).redirect(next, 303);
  });
  app.post('/logout', { config: { open: true } }, async (request, reply) => {
    const holder = access.logOut(request);
    removeCookie(request, reply, SESSION_COOKIE);
    const login = parts.login();
    const isPerson = holder?.via === 'oidc' || fieldsOf(request.body).everywhere;
    if (!isPerson || login === undefined) return reply.redirect('/login', 303);
    const idToken =
      holder?.via === 'oidc' && holder.provider === login.provider.key ? holder.idToken : undefined;
    const returnTo = `${login.publicUrl ?? originOf(request)}/login`;
    const address = await login.provider.logoutAddress(idToken, returnTo);
    if (address === undefined) return reply.redirect('/login', 303);
    // Not a redirect, because `form-action` in the content security policy lets forms lead only to this server.
    const link = `Log out of ${login.provider.label} too`;
    return pages.sendOnward(reply, { title: 'You are logged out of leadsync', link, to: address });
  });
}

function fieldsOf(fields: unknown) {
  const { token, next, unsent, everywhere } = (fields ?? {}) as Readonly<Record<string, unknown>>;
  return {
    token: typeof token === 'string' ? token : '',
    next: safeRedirect(next),
    unsent: unsent !== undefined,
    everywhere: everywhere !== undefined,
  };
}
