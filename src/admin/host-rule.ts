import { isIP } from 'node:net';

/**
 * Whether a request that names this host may be answered. A page of a stranger can reach a server on its reader's own
 * network by a name that it lets point there (DNS rebinding), but only by a name that public DNS serves. So: an
 * address, a name without a dot, a name under a suffix that is never public, and configured names are answered.
 */
export function isOurHost(header: string | undefined, configured: readonly string[]): boolean {
  // Only HTTP/1.0, which no browser speaks, comes without (RFC 9112, section 3.2).
  if (header === undefined) return true;
  const host = withoutPort(header).toLowerCase().replace(/\.$/, '');
  if (host === '') return false;
  if (isIP(host) !== 0 || !host.includes('.') || PRIVATE.test(host)) return true;
  return configured.some((name) => name.toLowerCase() === host);
}

/** RFC 6761 (localhost), RFC 6762 (local), ICANN resolution 2024.07.29.06 (internal); svc is Kubernetes's own. */
const PRIVATE = /\.(localhost|local|internal|svc)$/;

function withoutPort(header: string): string {
  return /^\[(.*)\](:\d*)?$/.exec(header)?.[1] ?? header.replace(/:\d*$/, '');
}
