import { isIP } from 'node:net';

/** By which names a server is answered under. */
export interface HostRule {
  /** Names from the configuration. */
  readonly configured: readonly string[];
  /** Whether whoever asks must show a credential. */
  readonly guarded: boolean;
}

/**
 * Whether a request that names this host may be answered. A stranger's web page can reach a server on its reader's own network
 * under a name that the stranger lets point there (DNS rebinding); a browser then takes the page for one of this server's own.
 * An address and `localhost` cannot be used for that, and names from the configuration are trusted. A name without a dot and one
 * under a suffix that public DNS does not serve can be anybody's on the local network (mDNS, LLMNR): they are answered only where
 * a credential is needed, which a page under another name does not have.
 */
export function isAllowedHost(header: string | undefined, { configured, guarded }: HostRule): boolean {
  // Only HTTP/1.0, which no browser speaks, comes without (RFC 9112, section 3.2).
  if (header === undefined) return true;
  const host = withoutPort(header).toLowerCase().replace(/\.$/, '');
  if (host === '') return false;
  if (isIP(host) !== 0 || LOOPBACK.test(host)) return true;
  if (guarded && (!host.includes('.') || PRIVATE.test(host))) return true;
  return configured.some((name) => name.toLowerCase() === host);
}

/** RFC 6761, section 6.3: always this machine. */
const LOOPBACK = /(^|\.)localhost$/;
/** RFC 6762 (local), ICANN resolution 2024.07.29.06 (internal); svc is Kubernetes's own. */
const PRIVATE = /\.(local|internal|svc)$/;

function withoutPort(header: string): string {
  return /^\[(.*)\](:\d*)?$/.exec(header)?.[1] ?? header.replace(/:\d*$/, '');
}
