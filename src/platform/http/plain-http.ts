import { isLoopback } from './loopback.ts';

/** Whether requests to an address cross a network unencrypted: `http:` to another machine. */
export function isPlainHttp(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''));
}
