/** An address as people write it: an IPv6 one in brackets (RFC 3986, section 3.2.2). */
export function hostAndPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
