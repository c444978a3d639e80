import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * Returns a function that checks whether an address is a trusted proxy. `listed` returns addresses and CIDR blocks, which a reload can
 * change.
 */
export function trustedProxies(listed: () => readonly string[]): (address: string) => boolean {
  let known: readonly string[] = [];
  let blocks = new BlockList();
  return (address) => {
    if (listed() !== known) {
      known = listed();
      blocks = blocksOf(known);
    }
    return isIP(address) !== 0 && blocks.check(address, familyOf(address));
  };
}

/** Returns the client's address, as trusted proxies report it. Falls back to the peer's address if they report no valid one. */
export function clientAddress({ ip, socket }: FastifyRequest): string {
  return isIP(ip) !== 0 ? ip : (socket.remoteAddress ?? '');
}

/** Whether the client uses HTTPS, according to a trusted proxy or to the browser's `Origin`. */
export function isHttps({ protocol, headers }: FastifyRequest): boolean {
  return protocol === 'https' || headers.origin?.startsWith('https:') === true;
}

/** Whether the browser's `Origin`, or a proxy that `isProxy` trusts, says that the client uses HTTP without TLS. */
export function isPlainHttp(
  { protocol, headers, socket }: FastifyRequest,
  isProxy: (address: string) => boolean,
): boolean {
  const isSaidByProxy = headers['x-forwarded-proto'] !== undefined && isProxy(socket.remoteAddress ?? '');
  return headers.origin?.startsWith('http:') === true || (isSaidByProxy && protocol === 'http');
}

/** Returns the origin under which the browser sends a request, without the port that its scheme implies. The gate has checked the host name. */
export function originOf(request: FastifyRequest): string {
  const address = `${isHttps(request) ? 'https' : 'http'}://${request.host}`;
  return URL.parse(address)?.origin ?? address;
}

function blocksOf(listed: readonly string[]): BlockList {
  const blocks = new BlockList();
  for (const one of listed) {
    const [address = '', prefix] = one.split('/');
    if (prefix === undefined) blocks.addAddress(address, familyOf(address));
    else blocks.addSubnet(address, Number(prefix), familyOf(address));
  }
  return blocks;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
