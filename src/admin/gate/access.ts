import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../contract/actor.ts';
import { RequestError } from '../contract/request-error.ts';
import { sendError, wantsPage } from '../http/answer.ts';
import { clientAddress } from '../http/proxies.ts';
import { Sessions } from './sessions.ts';
import { TokenThrottle } from './token-throttle.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered to whoever asks, without a credential: probes, the login page and what it is made of. */
    open?: boolean;
  }
}

/** Holds the id of a session. */
export const SESSION_COOKIE = 'leadsync_session';

/** By what `Access` decides who may ask. Sessions and wrong tokens are timed by `monotonicMs`, in ms. */
export interface AccessOptions {
  /** What has to be shown; undefined: nothing, on loopback. A reload may change it. */
  readonly token: () => string | undefined;
  /** Whether only this machine can ask. Without a token nobody else is answered. */
  readonly loopback: boolean;
  readonly monotonicMs: () => number;
}

/** Somebody who shows no credential, or a wrong one. */
export interface AnonymousClient {
  readonly who?: undefined;
  /** Whether a wrong token was shown that was not shown before. */
  readonly guess: boolean;
  /** For so long no token is looked at; 0: one is. */
  readonly waitSeconds: number;
}

const NO_CREDENTIAL: AnonymousClient = { guess: false, waitSeconds: 0 };

/** Decides who may ask. */
export class Access {
  readonly #protection: AccessOptions;
  readonly #sessions: Sessions;
  readonly #throttle: TokenThrottle;

  constructor(protection: AccessOptions) {
    this.#protection = protection;
    this.#sessions = new Sessions(protection.monotonicMs);
    this.#throttle = new TokenThrottle(protection.monotonicMs);
  }

  /** Whether a credential has to be shown. */
  get needed(): boolean {
    return this.#protection.token() !== undefined || !this.#protection.loopback;
  }

  /** Who asks, or why that is not known. To be called once a request: wrong tokens are counted. */
  authenticate(request: FastifyRequest): Actor | AnonymousClient {
    const address = clientAddress(request);
    if (!this.needed) return { who: 'loopback', address };
    const token = this.#protection.token();
    if (token === undefined) return NO_CREDENTIAL;
    const shown = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    if (shown !== undefined) return this.#byToken(shown, token, address);
    const session = request.cookies[SESSION_COOKIE];
    return session !== undefined && this.#sessions.isValid(session, token)
      ? { who: 'session', address }
      : NO_CREDENTIAL;
  }

  /** One who guesses learns nothing of a token that comes too soon, the right one neither. */
  #byToken(shown: string, token: string, address: string): Actor | AnonymousClient {
    const waitSeconds = this.#throttle.waitSeconds(address);
    if (waitSeconds > 0) return { waitSeconds, guess: false };
    if (isSame(shown, token)) return { who: 'token', address };
    return { waitSeconds, guess: this.#throttle.add(address, shown) };
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
export function sendChallenge(request: FastifyRequest, reply: FastifyReply): ReturnType<typeof sendError> {
  if (wantsPage(request)) return reply.redirect(loginFor(request), 303);
  const hint = 'Send it as `Authorization: Bearer …`.';
  reply.header('www-authenticate', 'Bearer realm="leadsync"');
  return sendError(
    request,
    reply,
    new RequestError(401, 'credential', 'This needs the token of admin.token.', hint),
  );
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
