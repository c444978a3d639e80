import { isIP } from 'node:net';

/** Host names under which the server answers. */
export interface HostRule {
  /** Names from the configuration. */
  readonly configured: readonly string[];
  /** Whether clients need a credential. */
  readonly guarded: boolean;
}

/**
 * Whether the server may answer a request for this host. The rule prevents DNS rebinding: an attacker points their own host name at a server on
 * the reader's network, so that the browser treats the attacker's web page and that server as one origin. An IP address and `localhost` are
 * safe, and configured names are trusted. On a local network, any machine can claim a name without a dot or under a suffix outside public DNS
 * (mDNS, LLMNR). Such a name is allowed only if clients need a credential, because the attacker's page has none.
 */
export function isAllowedHost(header: string | undefined, { configured, guarded }: HostRule): boolean {
  // Only HTTP/1.0 requests lack the header (RFC 9112, section 3.2), and no browser sends them.
  if (header === undefined) return true;
  const host = withoutPort(header).toLowerCase().replace(/\.$/, '');
  if (host === '') return false;
  if (isIP(host) !== 0 || LOOPBACK.test(host)) return true;
  if (guarded && (!host.includes('.') || PRIVATE.test(host))) return true;
  return configured.some((name) => name.toLowerCase() === host);
}

/** RFC 6761, section 6.3: `localhost` always means this machine. */
const LOOPBACK = /(^|\.)localhost$/;
/** `local` is from RFC 6762, `internal` from ICANN resolution 2024.07.29.06, `svc` from Kubernetes. */
const PRIVATE = /\.(local|internal|svc)$/;

function withoutPort(header: string): string {
  return /^\[(.*)\](:\d*)?$/.exec(header)?.[1] ?? header.replace(/:\d*$/, '');
}
