import { isIP } from 'node:net';

/** Returns `host:port`, with an IPv6 address in brackets (RFC 3986, section 3.2.2). */
export function hostAndPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const ADDRESS = /^(?:\[([\da-f:.]+)\]|([^\s:/@[\],]+))(?::(\d{1,5}))?$/i;

/** Reads `host:port`, or a host alone with `defaultPort`. Returns undefined for any other text, such as an address with a scheme. */
export function readHostAndPort(
  text: string,
  defaultPort: number,
): { host: string; port: number } | undefined {
  const [, ip, name, digits] = ADDRESS.exec(text) ?? [];
  const host = ip ?? name;
  const port = Number(digits ?? defaultPort);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** Whether a host is a loopback address or `localhost` (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3; RFC 6761, section 6.3). */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^::ffff:(?=[\d.]+$)/, '');
  if (isIP(name) === 4) return name.startsWith('127.');
  return name === '::1' || name === 'localhost';
}

/** Whether requests to an address cross a network unencrypted: `http:` to another machine. */
export function isPlainHttp(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''));
}
