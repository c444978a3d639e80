import formbody from '@fastify/formbody';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../contract/request-error.ts';
import { clientAddress, isHttps } from '../http/proxies.ts';
import { type Access, SESSION_COOKIE } from './access.ts';
import type { RecordAudit } from './audit.ts';
import { SESSION_MS } from './sessions.ts';

/** Sends the login page. */
export type SendLogin = (
  reply: FastifyReply,
  page: { readonly failure?: string | undefined; readonly next?: string | undefined },
) => FastifyReply;

/** Maximum login attempts per minute from one address (brute-force protection). */
const TRIES_A_MINUTE = 10;
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
  await app.register(rateLimit, {
    global: false,
    keyGenerator: clientAddress,
    errorResponseBuilder: () =>
      new RequestError(429, 'too-many', 'Too many login attempts.', 'Wait a minute, then try again.'),
  });
  const limited = { open: true, rateLimit: { max: TRIES_A_MINUTE, timeWindow: 60_000 } };
  app.get('/login', { config: { open: true } }, async (request, reply) => {
    const { next, unsent } = fieldsOf(request.query);
    if (!access.needed) return reply.redirect(next, 303);
    return sendLogin(reply, { failure: unsent ? UNSENT : undefined, next });
  });
  app.post('/login', { config: limited }, async (request, reply) => {
    const { token, next } = fieldsOf(request.body);
    if (!access.needed) return reply.redirect(next, 303);
    const session = access.logIn(token);
    await record(session === undefined ? 'login refused' : 'login', { address: clientAddress(request) });
    if (session === undefined) return sendLogin(reply.code(401), { failure: 'This token is wrong.', next });
    const cookie = { ...cookieFor(request), maxAge: SESSION_MS / 1000 };
    return reply.setCookie(SESSION_COOKIE, session, cookie).redirect(next, 303);
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
