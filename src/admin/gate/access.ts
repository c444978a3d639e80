import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { NamedToken, TrustedHeader } from '../../platform/options/role.ts';
import type { Actor } from '../contract/actor.ts';
import { RequestError } from '../contract/request-error.ts';
import type { OperationName } from '../contract/rights.ts';
import { sendError, wantsPage } from '../http/answer.ts';
import { clientAddress } from '../http/proxies.ts';
import { digest, Sessions } from './sessions.ts';
import { TokenThrottle } from './token-throttle.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route needs no credential: `/livez`, `/readyz`, the login and the logout. Assets are exempt without this option. */
    open?: boolean;
    /** What the route does, which decides who may do it (`contract/rights.ts`). Every route that is not open has one. */
    operation?: OperationName;
  }
}

/** Name of the cookie that holds the session id. */
export const SESSION_COOKIE = 'leadsync_session';

/** What `Access` needs to authenticate clients. `monotonicMs` returns the time of a monotonic clock, in ms. */
export interface AccessOptions {
  /** Tokens that clients may send. Empty if none is configured; a reload can change them. */
  readonly tokens: () => readonly NamedToken[];
  /** The header in which a trusted proxy names the person; undefined if no proxy does. */
  readonly header: () => TrustedHeader | undefined;
  /** Whether an address is that of a trusted proxy. */
  readonly isProxy: (address: string) => boolean;
  /**
   * Whether only this machine can connect. If others can and no token is configured, the server rejects every request that needs a
   * credential.
   */
  readonly loopback: boolean;
  readonly monotonicMs: () => number;
}

/** A client without a valid credential. */
export interface AnonymousClient {
  readonly who?: undefined;
  /** Whether the client sent a wrong token that its address had not yet sent in the current window of `TokenThrottle`. */
  readonly guess: boolean;
  /** Seconds for which the server answers further wrong tokens from this address with 429; 0 if it answers them with 401. */
  readonly waitSeconds: number;
  /** Name of a person whom a trusted proxy has logged in, and who has no role. */
  readonly withoutRole?: string;
}

/** Matches the name of a person as a proxy sends it: printable ASCII, such as a user name or an email address. */
const PERSON = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/;

const NO_CREDENTIAL: AnonymousClient = { guess: false, waitSeconds: 0 };

/** A session that has just begun: its id, and whose it is. */
export interface Login {
  readonly session: string;
  readonly client: Actor;
}

/** Authenticates clients by token or session. */
export class Access {
  readonly #protection: AccessOptions;
  readonly #sessions: Sessions;
  readonly #throttle: TokenThrottle;

  constructor(protection: AccessOptions) {
    this.#protection = protection;
    this.#sessions = new Sessions(protection.monotonicMs);
    this.#throttle = new TokenThrottle(protection.monotonicMs);
  }

  /** Whether clients need a credential. */
  get needed(): boolean {
    const { tokens, header, loopback } = this.#protection;
    return tokens().length > 0 || header() !== undefined || !loopback;
  }

  /** Returns the client. Call it once per request, because it counts wrong tokens. */
  authenticate(request: FastifyRequest): Actor | AnonymousClient {
    const address = clientAddress(request);
    if (!this.needed) return { who: 'loopback', via: 'loopback', role: 'admin', address };
    const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    const found = bearer === undefined ? undefined : this.#find(bearer);
    if (found) return { who: found.name, via: 'token', role: found.role, address };
    const person = this.#byProxy(request, address);
    if (person) return person;
    // Checked after the right token, so that wrong tokens from an address never lock out the right one from it.
    if (bearer !== undefined) return this.#guess(bearer, address);
    return this.#bySession(request.cookies[SESSION_COOKIE], address) ?? NO_CREDENTIAL;
  }

  /** Returns the person whom a trusted proxy names; undefined if the request does not come from one, or has no single name. */
  #byProxy({ raw, socket }: FastifyRequest, address: string): Actor | AnonymousClient | undefined {
    const { header, isProxy } = this.#protection;
    const trusted = header();
    if (trusted === undefined || !isProxy(socket.remoteAddress ?? '')) return undefined;
    const [who = '', ...more] = raw.headersDistinct[trusted.name.toLowerCase()] ?? [];
    if (more.length > 0 || !PERSON.test(who)) return undefined;
    const role = trusted.roles.get(who) ?? trusted.defaultRole;
    return role ? { who, via: 'proxy', role, address } : { ...NO_CREDENTIAL, withoutRole: who };
  }

  /** Returns undefined if the session has ended, or the token that it began with is no longer in force. */
  #bySession(id: string | undefined, address: string): Actor | undefined {
    const holder = id === undefined ? undefined : this.#sessions.holderOf(id);
    if (id === undefined || holder === undefined) return undefined;
    const { who, credential } = holder;
    const found = this.#protection
      .tokens()
      .find(({ name, token }) => name === who && digest(token.reveal()) === credential);
    if (found) return { who, via: 'session', role: found.role, address };
    this.#sessions.end(id);
    return undefined;
  }

  /** Compares with every token, so that the time does not show which one is similar. */
  #find(sent: string): NamedToken | undefined {
    return this.#protection.tokens().filter(({ token }) => isSame(sent, token.reveal()))[0];
  }

  #guess(sent: string, address: string): AnonymousClient {
    if (this.#protection.tokens().length === 0) return NO_CREDENTIAL;
    const waitSeconds = this.#throttle.waitSeconds(address);
    return { waitSeconds, guess: waitSeconds === 0 && this.#throttle.add(address, sent) };
  }

  /** Returns a new session, or the client if the token is wrong. Call it once per request, because it counts wrong tokens. */
  logIn(request: FastifyRequest, sent: string): Login | AnonymousClient {
    const address = clientAddress(request);
    const found = this.#find(sent);
    if (!found) return this.#guess(sent, address);
    const session = this.#sessions.begin({ who: found.name, credential: digest(sent) });
    return { session, client: { who: found.name, via: 'session', role: found.role, address } };
  }

  logOut(request: FastifyRequest): void {
    const session = request.cookies[SESSION_COOKIE];
    if (session !== undefined) this.#sessions.end(session);
  }
}

/** Redirects a browser to the login page, and answers other clients with 401 (RFC 6750, section 3). */
export function sendChallenge(request: FastifyRequest, reply: FastifyReply): ReturnType<typeof sendError> {
  if (wantsPage(request)) return reply.redirect(loginFor(request), 303);
  const hint = 'Send it in the header `Authorization: Bearer …`.';
  reply.header('www-authenticate', 'Bearer realm="leadsync"');
  return sendError(
    request,
    reply,
    new RequestError(
      401,
      'credential',
      'This request needs a token: admin.token, or one of admin.tokens.',
      hint,
    ),
  );
}

/**
 * Returns the address of the login page, which redirects to the requested page after the login. For a POST, it redirects to the page with
 * the form, because the reader has to send the form again.
 */
function loginFor({ method, headers, url }: FastifyRequest): string {
  if (method === 'GET') return `/login?next=${encodeURIComponent(url)}`;
  const page = URL.parse(headers.referer ?? '');
  return `/login?unsent=1&next=${encodeURIComponent(page ? page.pathname + page.search : '/')}`;
}

/** Whether two tokens are equal. Compares them in constant time. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
