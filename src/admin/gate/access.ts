import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Identity } from '../../identity/contract.ts';
import { isPersonName, type NamedToken, roleOf, type TrustedHeader } from '../../platform/options/role.ts';
import type { Actor } from '../contract/actor.ts';
import type { LoginProvider } from '../contract/login-provider.ts';
import { RequestError } from '../contract/request-error.ts';
import type { OperationName, PersonWithoutRole } from '../contract/rights.ts';
import { clientAddress, isHttps, isPlainHttp } from '../http/proxies.ts';
import { sendError, wantsPage } from '../http/send-error.ts';
import { readCookie } from './cookies.ts';
import { digest, type PersonHolder, Sessions, type TokenHolder } from './sessions.ts';
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
  /** The OpenID provider that logs people in; undefined if there is none. */
  readonly login: () => LoginProvider | undefined;
  /** Whether an address is that of a trusted proxy. */
  readonly isProxy: (address: string) => boolean;
  /**
   * Whether only this machine can connect. If others can, and no token, trusted header or OpenID provider is configured, the server rejects
   * every request that needs a credential.
   */
  readonly loopback: boolean;
  /** The address at which people open the pages, without a trailing slash; undefined if the configuration does not name it. */
  readonly publicUrl: () => string | undefined;
  readonly monotonicMs: () => number;
}

/** A client without a valid credential. */
export interface AnonymousClient {
  readonly who?: undefined;
  /** Whether the client sent a wrong token that its address had not yet sent in the current window of `TokenThrottle`. */
  readonly guess: boolean;
  /** Seconds for which the server answers further wrong tokens from this address with 429; 0 if it answers them with 401. */
  readonly waitSeconds: number;
  /** A person who is logged in but has no role. */
  readonly withoutRole?: PersonWithoutRole;
}

const NO_CREDENTIAL: AnonymousClient = { guess: false, waitSeconds: 0 };

/** A session that has just begun: its id, and the client to which it belongs. */
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
    const { tokens, header, login, loopback } = this.#protection;
    return tokens().length > 0 || header() !== undefined || login() !== undefined || !loopback;
  }

  /** Returns the client. Must be called only once per request, because it counts wrong tokens. */
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
    return this.#bySession(this.#sessionOf(request), address) ?? NO_CREDENTIAL;
  }

  /**
   * Whether the browser uses HTTPS, according to a trusted proxy or to its `Origin` header. If neither says, the browser counts as using HTTPS
   * if it requests the host of an HTTPS `publicUrl` and sends `Sec-Fetch-Site`, which browsers send only over HTTPS and to loopback addresses
   * (W3C Fetch Metadata, section 2). A wrong guess would break the login, because a browser that uses HTTP drops a session cookie that requires
   * HTTPS.
   */
  isSecure(request: FastifyRequest): boolean {
    if (isHttps(request)) return true;
    if (isPlainHttp(request, this.#protection.isProxy)) return false;
    const pages = URL.parse(this.#protection.publicUrl() ?? '');
    const isFromPages = pages?.protocol === 'https:' && pages.host === request.host;
    return isFromPages && request.headers['sec-fetch-site'] !== undefined;
  }

  #sessionOf(request: FastifyRequest): string | undefined {
    return readCookie(request, SESSION_COOKIE, this.isSecure(request));
  }

  /**
   * Returns the person whom a trusted proxy names; undefined if the request does not come from a trusted proxy, or does not name exactly one
   * person.
   */
  #byProxy({ raw, socket }: FastifyRequest, address: string): Actor | AnonymousClient | undefined {
    const { header, isProxy } = this.#protection;
    const trusted = header();
    if (trusted === undefined || !isProxy(socket.remoteAddress ?? '')) return undefined;
    const [who = '', ...more] = raw.headersDistinct[trusted.name.toLowerCase()] ?? [];
    if (more.length > 0 || !isPersonName(who)) return undefined;
    const role = trusted.roles.get(who) ?? trusted.defaultRole;
    return role
      ? { who, via: 'proxy', role, address }
      : { ...NO_CREDENTIAL, withoutRole: { who, via: 'proxy' } };
  }

  /**
   * Returns the client of a session. Returns undefined if the session has ended, or if the token or provider with which it began is no longer in
   * force.
   */
  #bySession(id: string | undefined, address: string): Actor | AnonymousClient | undefined {
    const holder = id === undefined ? undefined : this.#sessions.holderOf(id);
    if (id === undefined || holder === undefined) return undefined;
    const client = holder.via === 'oidc' ? this.#byLogin(holder, address) : this.#byToken(holder, address);
    if (client === undefined) this.#sessions.end(id);
    return client;
  }

  #byToken({ who, credential }: TokenHolder, address: string): Actor | undefined {
    const found = this.#protection
      .tokens()
      .find(({ name, token }) => name === who && digest(token.reveal()) === credential);
    return found && { who, via: 'session', role: found.role, address };
  }

  /** Takes the role from the configuration in force, so that a reload that removes a person also ends their access. */
  #byLogin(
    { who, subject, issuer, groups, provider }: PersonHolder,
    address: string,
  ): Actor | AnonymousClient | undefined {
    const login = this.#protection.login();
    if (login?.provider.key !== provider) return undefined;
    const role = roleOf(login.roles, { name: who, groups });
    return role
      ? { who, via: 'oidc', role, address, subject, issuer }
      : { ...NO_CREDENTIAL, withoutRole: { who, via: 'oidc' } };
  }

  /** Compares the sent token with every configured one, so that the time taken does not show which one matches. */
  #find(sent: string): NamedToken | undefined {
    return this.#protection.tokens().filter(({ token }) => isSame(sent, token.reveal()))[0];
  }

  #guess(sent: string, address: string): AnonymousClient {
    if (this.#protection.tokens().length === 0) return NO_CREDENTIAL;
    const waitSeconds = this.#throttle.waitSeconds(address);
    return { waitSeconds, guess: waitSeconds === 0 && this.#throttle.add(address, sent) };
  }

  /** Returns a new session, or the anonymous client if the token is wrong. Must be called only once per request, because it counts wrong tokens. */
  logIn(request: FastifyRequest, sent: string): Login | AnonymousClient {
    const address = clientAddress(request);
    const found = this.#find(sent);
    if (!found) return this.#guess(sent, address);
    const session = this.#sessions.begin({ via: 'session', who: found.name, credential: digest(sent) });
    return { session, client: { who: found.name, via: 'session', role: found.role, address } };
  }

  /** Returns a new session for a person whom the provider has just logged in. Returns undefined if the person has no role. */
  logInPerson(
    request: FastifyRequest,
    { provider, roles }: LoginProvider,
    identity: Identity,
  ): Login | undefined {
    const { name: who, subject, groups, idToken } = identity;
    const { issuer, key } = provider;
    const role = roleOf(roles, identity);
    if (role === undefined) return undefined;
    const session = this.#sessions.begin({
      via: 'oidc',
      who,
      subject,
      issuer,
      groups,
      provider: key,
      idToken,
    });
    const address = clientAddress(request);
    return { session, client: { who, via: 'oidc', role, address, subject, issuer } };
  }

  /** Ends the session of a request. Returns the holder of the session; undefined if there was no session. */
  logOut(request: FastifyRequest): TokenHolder | PersonHolder | undefined {
    const session = this.#sessionOf(request);
    const holder = session === undefined ? undefined : this.#sessions.holderOf(session);
    if (session !== undefined) this.#sessions.end(session);
    return holder;
  }
}

/** Redirects a browser to the login page, and answers other clients with 401 (RFC 6750, section 3). */
export function sendChallenge(request: FastifyRequest, reply: FastifyReply): ReturnType<typeof sendError> {
  if (wantsPage(request)) return reply.redirect(loginFor(request), 303);
  reply.header('www-authenticate', 'Bearer realm="leadsync"');
  const isWrong = request.headers.authorization !== undefined;
  const message = isWrong
    ? 'leadsync does not know the token of this request: it is neither admin.token nor one of admin.tokens.'
    : 'This request needs a token: admin.token, or one of admin.tokens.';
  const hint = isWrong
    ? 'Send a token of the configuration in force in the header `Authorization: Bearer …`.'
    : 'Send it in the header `Authorization: Bearer …`.';
  return sendError(request, reply, new RequestError(401, 'credential', message, hint));
}

/**
 * Returns the address of the login page, which redirects to the requested page after the login. For a POST, it redirects to the page with
 * the form, because the reader must send the form again.
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
