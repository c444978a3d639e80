import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { SslOptions } from 'mysql2';

/** The address of a database, parsed from its URL. */
export interface Address {
  /** `host:port`, or the path of the socket, for messages. */
  readonly shown: string;
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: Tls | undefined;
}

/** How a connection is encrypted. `ca`, `cert` and `key` are paths. */
interface Tls {
  readonly verifies: 'nothing' | 'authority' | 'host';
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

const DEFAULT_PORT = 3306;

/** Values of `sslmode`, and of `ssl-mode` as MySQL's own programs call it. */
const MODES: Readonly<Record<string, Tls['verifies'] | undefined>> = {
  disable: undefined,
  disabled: undefined,
  'no-verify': 'nothing',
  required: 'nothing',
  'verify-ca': 'authority',
  verify_ca: 'authority',
  require: 'host',
  'verify-full': 'host',
  verify_identity: 'host',
};
/** The names of each parameter of an address, including the one that MySQL's own programs use. */
const PARAMETERS = {
  mode: ['sslmode', 'ssl-mode'],
  ca: ['sslrootcert', 'ssl-ca'],
  cert: ['sslcert', 'ssl-cert'],
  key: ['sslkey', 'ssl-key'],
  socket: ['socket'],
} as const;

const EXAMPLE = 'mysql://user:password@host:3306/database';

/** Parses an address. If it is not valid, returns the reason as a phrase without secrets. */
export function readAddress(text: string): Address | string {
  if (!/^(mysql|mariadb):\/\//.test(text) || !URL.canParse(text))
    return `must be an address such as ${EXAMPLE}`;
  const url = new URL(text);
  const database = decoded(url.pathname.slice(1));
  if (database === undefined || database === '' || database.includes('/'))
    return `must name a database, as in ${EXAMPLE}`;
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (user === undefined || password === undefined)
    return 'has a % in user or password that is not written %25';
  const known = new Set<string>(Object.values(PARAMETERS).flat());
  if ([...url.searchParams.keys()].some((name) => !known.has(name)))
    return `may have the parameters ${[...known].join(', ')}, and no others`;
  const parameter = (names: readonly string[]) =>
    names.map((name) => url.searchParams.get(name)).find((value) => value !== null) ?? undefined;
  const mode = parameter(PARAMETERS.mode)?.toLowerCase() ?? 'disable';
  if (!Object.hasOwn(MODES, mode))
    return 'has an unknown sslmode; use verify-full, verify-ca, no-verify or disable';
  const verifies = MODES[mode];
  const [ca, cert, key] = [parameter(PARAMETERS.ca), parameter(PARAMETERS.cert), parameter(PARAMETERS.key)];
  if (verifies === undefined && (ca ?? cert ?? key) !== undefined)
    return 'has a certificate but no TLS; add sslmode=verify-full';
  const socketPath = parameter(PARAMETERS.socket);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost';
  // mysql2 would compare the certificate with the name localhost.
  if (verifies === 'host' && isIP(host) !== 0)
    return 'has an IP address, whose certificate leadsync cannot verify; use the host name, or sslmode=verify-ca';
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  return {
    shown: socketPath ?? `${url.hostname || 'localhost'}:${port}`,
    host,
    port,
    socketPath,
    user,
    password,
    database,
    tls: verifies && { verifies, ca, cert, key },
  };
}

/** Returns the TLS options for a connection. Reads the certificate files. @throws the error from reading a file */
export function tlsOptions({ verifies, ca, cert, key }: Tls): SslOptions {
  const content = (path: string | undefined, name: 'ca' | 'cert' | 'key') =>
    path === undefined ? {} : { [name]: readFileSync(path, 'utf8') };
  return {
    rejectUnauthorized: verifies !== 'nothing',
    verifyIdentity: verifies === 'host',
    ...content(ca, 'ca'),
    ...content(cert, 'cert'),
    ...content(key, 'key'),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
