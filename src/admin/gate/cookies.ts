import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Browsers accept a cookie with this prefix only over HTTPS, from the host itself and for all of its paths (RFC 6265bis, section 4.1.3.2). So
 * neither another host of the domain nor an attacker who modifies plain HTTP can plant their own session or login in a browser.
 */
const HOST_PREFIX = '__Host-';

/** How a cookie is set. `isSecure`: whether the browser uses HTTPS. */
interface CookieOptions {
  readonly isSecure: boolean;
  readonly sameSite: 'strict' | 'lax';
  /** Lifetime, in ms. */
  readonly lastsMs: number;
}

/** Sets a cookie that no script can read. Over HTTPS, its name gets the prefix `__Host-`. */
export function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  { isSecure, sameSite, lastsMs }: CookieOptions,
): FastifyReply {
  return reply.setCookie(isSecure ? HOST_PREFIX + name : name, value, {
    path: '/',
    httpOnly: true,
    sameSite,
    secure: isSecure,
    maxAge: lastsMs / 1000,
  });
}

/** Returns the value of a cookie that `setCookie` set; undefined if there is none. Over HTTPS, only a cookie with the prefix counts. */
export function readCookie({ cookies }: FastifyRequest, name: string, isSecure: boolean): string | undefined {
  // Some proxies do not report that the browser uses HTTPS, and a cookie with the prefix can only have been set over HTTPS.
  return cookies[HOST_PREFIX + name] ?? (isSecure ? undefined : cookies[name]);
}

/** Removes a cookie from the browser. */
export function removeCookie({ cookies }: FastifyRequest, reply: FastifyReply, name: string): void {
  const isSecure = cookies[HOST_PREFIX + name] !== undefined;
  setCookie(reply, name, '', { isSecure, sameSite: 'strict', lastsMs: 0 });
}
