import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** Tells which addresses are those of trusted proxies. `listed` gives addresses and CIDR blocks; a reload may change them. */
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

/** Whence a request comes, as far as trusted proxies say so; what they were told that is no address does not count. */
export function clientAddress({ ip, socket }: FastifyRequest): string {
  return isIP(ip) !== 0 ? ip : (socket.remoteAddress ?? '');
}

/** Whether whoever asks speaks https to whatever stands before leadsync: a trusted proxy says so, or the browser's `Origin` does. */
export function isHttps({ protocol, headers }: FastifyRequest): boolean {
  return protocol === 'https' || headers.origin?.startsWith('https:') === true;
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
