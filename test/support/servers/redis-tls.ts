import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RedisTls } from '../../../src/delivery/options.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { type Certificate, selfSigned } from './certificate.ts';

/** The certificates of a Redis that asks its clients for one. */
export interface RedisCertificates {
  /** The arguments of a redis-server that speaks TLS only, on `port`. */
  argsFor(port: number): string[];
  /** What a client needs. */
  readonly client: RedisTls;
  /** The certificate and the key of the server, which may be exchanged. */
  readonly server: { readonly certFile: string; readonly keyFile: string };
  /** The certificate that the server presents. */
  readonly presented: Certificate;
  close(): void;
}

/** Makes the certificates of a server and of a client, each trusted by the other. */
export function redisCertificates(): RedisCertificates {
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-redis-tls-'));
  const [server, client] = [selfSigned('redis'), selfSigned('leadsync')];
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const [certFile, keyFile] = [file('server.pem', server.cert), file('server.key', server.key)];
  const trusted = file('trusted.pem', server.cert + client.cert);
  return {
    argsFor: (port) => [
      ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'yes'],
      ...['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', trusted],
      ...['--tls-replication', 'yes', '--tls-cluster', 'yes'],
    ],
    client: {
      ca: new Secret(server.cert),
      cert: new Secret(client.cert),
      key: new Secret(client.key),
      sentinels: true,
    },
    server: { certFile, keyFile },
    presented: server,
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
