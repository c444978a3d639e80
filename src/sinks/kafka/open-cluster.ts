import { isIP } from 'node:net';
import {
  AuthenticationError,
  type ConnectionOptions,
  type SASLCustomAuthenticator,
  saslPlain,
  saslScramSha,
} from '@platformatic/kafka';
import type { SinkParts } from '../sink-type.ts';
import { Cluster } from './cluster.ts';
import { type BrokerAddress, type KafkaOptions, readBrokers } from './options.ts';

/** The names of the mechanisms in the protocol, by the option `sasl`. */
const MECHANISMS = {
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512',
} as const;

/** Returns the cluster of a configuration. Opens no connection. */
export function openCluster(options: KafkaOptions, parts: SinkParts): Cluster {
  const { tls, username, create, partitions = -1, tombstones, compression } = options;
  const { clock, timeoutMs, concurrency, userAgent } = parts;
  const brokers = readBrokers(options.brokers) ?? [];
  return new Cluster({
    brokers,
    clientId: userAgent.replace(/[^\w.-]/g, '-'),
    connection: { ...tlsOf(options, brokers), ...loginOf(options) },
    login: { tls, username },
    compression,
    create: create ? { partitions, compacted: tombstones } : undefined,
    clock,
    timeoutMs,
    concurrency,
  });
}

function tlsOf(
  { tls, tls_ca, tls_certificate, tls_key }: KafkaOptions,
  brokers: readonly BrokerAddress[],
): Partial<ConnectionOptions> {
  if (!tls) return {};
  return {
    tls: {
      ...(tls_ca && { ca: tls_ca.reveal() }),
      ...(tls_certificate && { cert: tls_certificate.reveal() }),
      ...(tls_key && { key: tls_key.reveal() }),
    },
    // Whether to send a broker's host name (SNI), which cannot be an IP address (RFC 6066, section 3).
    tlsServerName: brokers.some(({ host }) => isIP(host) === 0),
  };
}

function loginOf({ sasl, username, password }: KafkaOptions): Partial<ConnectionOptions> {
  if (username === undefined || password === undefined) return {};
  return { sasl: { mechanism: MECHANISMS[sasl], username, password: password.reveal(), authenticate } };
}

/**
 * Logs in as the client itself would, except that an answer that is not SASL fails the login. The client would instead throw in its socket
 * handler, which would end the process.
 */
const authenticate: SASLCustomAuthenticator = (
  mechanism,
  connection,
  api,
  username = '',
  password = '',
  _token,
  done,
) => {
  const guarded = Object.assign((...[to, bytes, next]: Parameters<typeof api>) => {
    api(to, bytes, (error, answer) => {
      try {
        next?.(error, answer);
      } catch {
        done(new AuthenticationError('The answer is not SASL.'));
      }
    });
  }, api);
  if (mechanism === 'PLAIN') saslPlain.authenticate(guarded, connection, username, password, done);
  else {
    const hash = mechanism === MECHANISMS['scram-sha-256'] ? 'SHA-256' : 'SHA-512';
    saslScramSha.authenticate(
      guarded,
      connection,
      hash,
      username,
      password,
      saslScramSha.defaultCrypto,
      done,
    );
  }
};
