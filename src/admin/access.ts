import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from './actor.ts';
import { refuse } from './answer.ts';
import { Refusal } from './refusal.ts';
import { Sessions } from './sessions.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered to whoever asks, without a credential: probes, the login page and what it is made of. */
    open?: boolean;
  }
}

/** Holds the id of a session. */
export const SESSION_COOKIE = 'leadsync_session';

export interface Protection {
  /** What has to be shown; undefined: nothing, on loopback. A reload may change it. */
  readonly token: () => string | undefined;
  /** Whether only this machine can ask. Without a token nobody else is answered. */
  readonly loopback: boolean;
  readonly monotonicMs: () => number;
}

/** Decides who may ask. */
export class Access {
  readonly #protection: Protection;
  readonly #sessions: Sessions;

  constructor(protection: Protection) {
    this.#protection = protection;
    this.#sessions = new Sessions(protection.monotonicMs);
  }

  /** Whether a credential has to be shown. */
  get needed(): boolean {
    return this.#protection.token() !== undefined || !this.#protection.loopback;
  }

  /** Who asks; undefined for somebody who has to show a credential and does not. */
  actorOf(request: FastifyRequest): Actor | undefined {
    const address = request.ip;
    if (!this.needed) return { who: 'loopback', address };
    const token = this.#protection.token();
    if (token === undefined) return undefined;
    const shown = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    if (shown !== undefined) return isSame(shown, token) ? { who: 'token', address } : undefined;
    const session = request.cookies[SESSION_COOKIE];
    return session !== undefined && this.#sessions.isOn(session, token)
      ? { who: 'session', address }
      : undefined;
  }

  /** The id of a new session for whoever shows the right token. */
  logIn(shown: string): string | undefined {
    const token = this.#protection.token();
    return token !== undefined && isSame(shown, token) ? this.#sessions.begin(token) : undefined;
  }

  logOut(request: FastifyRequest): void {
    const session = request.cookies[SESSION_COOKIE];
    if (session !== undefined) this.#sessions.end(session);
  }
}

/** Leads a browser's reader to the login, and tells a program what to show (RFC 6750, section 3). */
export function askForCredential(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (request.headers.accept?.includes('text/html') && !request.url.startsWith('/api/'))
    return reply.redirect(loginFor(request), 303);
  const hint = 'Send it as `Authorization: Bearer …`.';
  reply.header('www-authenticate', 'Bearer realm="leadsync"');
  return refuse(request, reply, new Refusal(401, 'credential', 'This needs the token of admin.token.', hint));
}

/** The login that leads back to the page; to the one where a form stood, which has to be sent again. */
function loginFor({ method, headers, url }: FastifyRequest): string {
  if (method === 'GET') return `/login?next=${encodeURIComponent(url)}`;
  const page = URL.parse(headers.referer ?? '');
  return `/login?unsent=1&next=${encodeURIComponent(page ? page.pathname + page.search : '/')}`;
}

/** Takes as long for a near miss as for any other. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
