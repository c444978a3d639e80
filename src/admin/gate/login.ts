import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress, isHttps } from '../http/proxies.ts';
import { type Access, type AnonymousClient, SESSION_COOKIE } from './access.ts';
import type { RecordAudit } from './audit.ts';
import { SESSION_MS } from './sessions.ts';

/** Sends the login page. */
export type SendLogin = (
  reply: FastifyReply,
  page: { readonly failure?: string | undefined; readonly next?: string | undefined },
) => FastifyReply;

const TOO_MANY =
  'This token is wrong, and many wrong ones came from your address. The right one is accepted at any time.';
const UNSENT = 'Your session had expired, so nothing was done. Log in, then try again.';

/**
 * Adds `GET /login`; `POST /login`, which starts a session if `token` is right and then redirects to `next`; and `POST /logout`, which ends
 * the session.
 */
export async function addLogin(
  app: FastifyInstance,
  access: Access,
  record: RecordAudit,
  sendLogin: SendLogin,
): Promise<void> {
  await app.register(formbody);
  /** Sends the login page again. A further wrong token of an address that has sent too many is not recorded. */
  const refuse = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { guess, waitSeconds }: AnonymousClient,
    next: string,
  ) => {
    if (guess) await record('login refused', { address: clientAddress(request) });
    if (waitSeconds === 0) return sendLogin(reply.code(401), { failure: 'This token is wrong.', next });
    return sendLogin(reply.code(429).header('retry-after', waitSeconds), { failure: TOO_MANY, next });
  };
  app.get('/login', { config: { open: true } }, async (request, reply) => {
    const { next, unsent } = fieldsOf(request.query);
    if (!access.needed) return reply.redirect(next, 303);
    return sendLogin(reply, { failure: unsent ? UNSENT : undefined, next });
  });
  app.post('/login', { config: { open: true } }, async (request, reply) => {
    const { token, next } = fieldsOf(request.body);
    if (!access.needed) return reply.redirect(next, 303);
    const login = access.logIn(request, token);
    if (!('session' in login)) return refuse(request, reply, login, next);
    await record('login', { ...login.client });
    const cookie = { ...cookieFor(request), maxAge: SESSION_MS / 1000 };
    return reply.setCookie(SESSION_COOKIE, login.session, cookie).redirect(next, 303);
  });
  app.post('/logout', { config: { open: true } }, async (request, reply) => {
    access.logOut(request);
    return reply.clearCookie(SESSION_COOKIE, cookieFor(request)).redirect('/login', 303);
  });
}

function cookieFor(request: FastifyRequest) {
  return { path: '/', httpOnly: true, sameSite: 'strict', secure: isHttps(request) } as const;
}

function fieldsOf(fields: unknown): { token: string; next: string; unsent: boolean } {
  const { token, next, unsent } = (fields ?? {}) as Readonly<Record<string, unknown>>;
  return { token: typeof token === 'string' ? token : '', next: ownPath(next), unsent: unsent !== undefined };
}

/** Returns `next` if it is a path of this server, otherwise `/`, so that the login page never redirects to another site. */
function ownPath(next: unknown): string {
  return typeof next === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : '/';
}
