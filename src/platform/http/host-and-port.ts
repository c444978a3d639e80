/** Returns `host:port`, with an IPv6 address in brackets (RFC 3986, section 3.2.2). */
export function hostAndPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
