import { isIP } from 'node:net';

/** Whether a host is a loopback address or `localhost` (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3; RFC 6761, section 6.3). */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^::ffff:(?=[\d.]+$)/, '');
  if (isIP(name) === 4) return name.startsWith('127.');
  return name === '::1' || name === 'localhost';
}
