import { codeOf } from './error-code.ts';

/** A failed connection, in words. */
export interface NetworkFailure {
  /** What is wrong, as a clause that follows the destination's name: `refuses the connection (ECONNREFUSED)`. */
  readonly what: string;
  /** The operator's next step. */
  readonly hint: string;
}

const UNREACHED = 'Check the address, and whether there is a firewall in between.';
const BROKEN = "If this continues, check the other side's log.";
const CERTIFICATE = 'Renew or correct its certificate, or trust its issuer (NODE_EXTRA_CA_CERTS).';

const NO_HTTP = {
  what: 'does not answer in HTTP',
  hint: 'Check the scheme and port of its address.',
};

const KNOWN: Readonly<Record<string, NetworkFailure>> = {
  ECONNREFUSED: {
    what: 'refuses the connection',
    hint: 'Check that it is running, and check host and port.',
  },
  ECONNRESET: { what: 'reset the connection', hint: BROKEN },
  EPIPE: { what: 'closed the connection', hint: BROKEN },
  UND_ERR_SOCKET: { what: 'closed the connection before it answered', hint: BROKEN },
  ENOTFOUND: {
    what: 'has no address in DNS',
    hint: 'Check the spelling of the host name, and its DNS record.',
  },
  EAI_AGAIN: { what: 'could not be looked up in DNS', hint: "Check this machine's name server." },
  ETIMEDOUT: { what: 'did not accept a connection in time', hint: UNREACHED },
  UND_ERR_CONNECT_TIMEOUT: { what: 'did not accept a connection in time', hint: UNREACHED },
  EHOSTUNREACH: { what: 'cannot be reached over the network', hint: UNREACHED },
  ENETUNREACH: { what: 'cannot be reached over the network', hint: UNREACHED },
  ENOENT: {
    what: 'could not be used: a socket or certificate file in its address is missing',
    hint: 'Check the path.',
  },
  EACCES: {
    what: 'does not allow this user to connect',
    hint: 'Allow the user that leadsync runs as to connect.',
  },
  EMFILE: {
    what: 'cannot be connected to: too many open files',
    hint: 'Raise the limit (ulimit -n), or lower concurrency.',
  },
  CERT_HAS_EXPIRED: { what: 'has a TLS certificate that has expired', hint: CERTIFICATE },
  CERT_NOT_YET_VALID: {
    what: 'has a TLS certificate that is not valid yet',
    hint: "Check this machine's clock.",
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    what: 'has a TLS certificate for another name',
    hint: 'Use the name in the certificate.',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: { what: 'has a self-signed TLS certificate', hint: CERTIFICATE },
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

/** Returns the description of a failed connection, by the error's `code`. Does not use the error's message, which may contain anything. */
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
      what: 'could not set up a TLS connection with leadsync',
      hint: 'Check that the port uses TLS, and which versions.',
    };
  }
  return { what: 'could not be used', hint: BROKEN };
}
