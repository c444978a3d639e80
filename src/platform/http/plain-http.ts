import { isLoopback } from './loopback.ts';

/** Whether what is sent to an address crosses a network unencrypted: http, to another host than this machine. */
export function isPlainHttp(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''));
}
