import { codeOf } from './error-code.ts';

/** What can be said of a connection that failed: a plain clause, and what the operator can do. */
export interface NetworkFailure {
  /** Follows the destination's name: `crm.example.com refuses the connection (ECONNREFUSED)`. */
  readonly what: string;
  readonly hint: string;
}

const UNREACHED = 'See whether the address is right, and whether a firewall lies between.';
const BROKEN = 'If it stays so, look into the log of the other side.';
const CERTIFICATE = 'Renew or correct its certificate, or trust its issuer (NODE_EXTRA_CA_CERTS).';

const NO_HTTP = {
  what: 'does not answer in HTTP',
  hint: 'See whether the scheme and port of its address are right.',
};

const KNOWN: Readonly<Record<string, NetworkFailure>> = {
  ECONNREFUSED: {
    what: 'refuses the connection',
    hint: 'See whether it runs, and whether host and port are right.',
  },
  ECONNRESET: { what: 'reset the connection', hint: BROKEN },
  EPIPE: { what: 'closed the connection', hint: BROKEN },
  UND_ERR_SOCKET: { what: 'closed the connection before it had answered', hint: BROKEN },
  ENOTFOUND: {
    what: 'has no address in DNS',
    hint: 'See whether the host name is spelled right and known to DNS.',
  },
  EAI_AGAIN: { what: 'could not be looked up in DNS', hint: "See whether this machine's name server works." },
  ETIMEDOUT: { what: 'cannot be connected to in time', hint: UNREACHED },
  UND_ERR_CONNECT_TIMEOUT: { what: 'cannot be connected to in time', hint: UNREACHED },
  EHOSTUNREACH: { what: 'cannot be reached over the network', hint: UNREACHED },
  ENETUNREACH: { what: 'cannot be reached over the network', hint: UNREACHED },
  ENOENT: {
    what: 'could not be used: a socket or certificate file that its address names is missing',
    hint: 'See whether the path is right.',
  },
  EACCES: {
    what: 'must not be connected to by this user',
    hint: 'Give the user that leadsync runs as that right.',
  },
  EMFILE: {
    what: 'cannot be connected to: too many open files',
    hint: 'Raise the limit (ulimit -n), or lower concurrency.',
  },
  CERT_HAS_EXPIRED: { what: 'has a TLS certificate that has expired', hint: CERTIFICATE },
  CERT_NOT_YET_VALID: {
    what: 'has a TLS certificate that is not valid yet',
    hint: "See whether this machine's clock is right.",
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    what: 'has a TLS certificate for another name',
    hint: 'Use the name that the certificate was made for.',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: { what: 'has a TLS certificate that it signed itself', hint: CERTIFICATE },
  SELF_SIGNED_CERT_IN_CHAIN: {
    what: 'has a TLS certificate from an issuer that is not trusted',
    hint: CERTIFICATE,
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    what: 'has a TLS certificate from an issuer that is not trusted',
    hint: CERTIFICATE,
  },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: {
    what: 'has a TLS certificate from an issuer that is not trusted',
    hint: CERTIFICATE,
  },
};

/** Puts a failed connection into words, by the error's `code`. Its text is not used: it may hold anything. */
export function networkFailure(error: unknown): NetworkFailure & { code: string | undefined } {
  const code = codeOf(error);
  // undici gives this error no code.
  if (error instanceof Error && error.name === 'HTTPParserError') return { code, ...NO_HTTP };
  if (code === undefined) return { code, what: 'could not be used: the connection failed', hint: BROKEN };
  const known = KNOWN[code] ?? byFamily(code);
  return { code, what: `${known.what} (${code})`, hint: known.hint };
}

function byFamily(code: string): NetworkFailure {
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO|CERT_)/.test(code)) {
    return {
      what: 'does not agree with us on TLS',
      hint: 'See whether the port speaks TLS, and which versions.',
    };
  }
  return { what: 'could not be used', hint: BROKEN };
}
