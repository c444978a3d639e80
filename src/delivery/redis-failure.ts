import { networkFailure } from '../platform/failures/network-failure.ts';

/** Why Redis is unusable, and the operator's next step. */
export interface RedisFailure {
  /** The error code from Redis or from the operating system, or a short phrase. */
  readonly code: string;
  /** One plain sentence, without the address, which may contain a password. */
  readonly reason: string;
  readonly hint: string;
  /** Whether Redis answered with an error. If false, the connection failed. */
  readonly refused: boolean;
}

const SILENT = 'it does not answer';
/** The consequence of an unusable Redis, as a sentence for hints. */
export const LEADS_WAIT = 'Polls continue, and leads wait safely in the ledger.';

/** The errors with which Redis refuses commands, keyed by the first word of its answer. */
const REFUSALS: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  OOM: {
    what: 'is out of memory and accepts no jobs',
    hint: 'Raise maxmemory, or find out which other program uses the memory: leadsync stores little there.',
  },
  READONLY: {
    what: 'is a read-only replica and accepts no jobs',
    hint: 'Set queue.redis_url to the master, or to a host name that follows the master, or name the sentinels in queue.redis.sentinels: leadsync then recovers from a fail-over by itself.',
  },
  LOADING: { what: 'is loading its data from disk', hint: 'Wait until it has finished.' },
  MASTERDOWN: {
    what: 'is a replica that has lost its master',
    hint: 'Set queue.redis_url to the master, or name the sentinels in queue.redis.sentinels.',
  },
  MISCONF: {
    what: 'accepts no writes because it cannot save its data',
    hint: "Check Redis's log; its disk may be full.",
  },
  BUSY: {
    what: 'is running a long script',
    hint: 'Check which other program uses this Redis; SCRIPT KILL ends a script that hangs.',
  },
  NOREPLICAS: {
    what: 'accepts no writes because it has too few replicas',
    hint: 'Start its replicas, or lower min-replicas-to-write.',
  },
  CLUSTERDOWN: {
    what: 'is a cluster that is down',
    hint: 'Check the state of the cluster with `CLUSTER INFO`.',
  },
  MOVED: {
    what: 'is part of a cluster',
    hint: 'List its nodes in queue.redis.cluster, and remove queue.redis_url.',
  },
  NOAUTH: {
    what: 'requires a password',
    hint: 'Put the password into queue.redis_url (redis://:PASSWORD@HOST:PORT) or into queue.redis.password.',
  },
  WRONGPASS: {
    what: 'does not accept the password',
    hint: 'Correct the user name or password in queue.redis_url or queue.redis.',
  },
  NOPERM: {
    what: 'does not allow this user to run the command',
    hint: 'Give the user the permissions in deploy/redis/users.acl.',
  },
  DENIED: {
    what: 'is in protected mode, which allows only local connections',
    hint: 'Give Redis a password, or an ACL user for leadsync.',
  },
  UNBLOCKED: { what: 'has changed its role', hint: 'leadsync reconnects by itself.' },
};

const UNREACHED = 'Check queue.redis_url or queue.redis, and that Redis is running.';

/** Prefix of the code for a failure of all sentinels. The code of the last sentinel's failure follows. */
const SENTINELS = 'sentinels: ';
const UNKNOWN_MASTER = 'unknown master';

/** Returns the description of a failed command or connection. */
export function redisFailure(error: unknown): RedisFailure {
  const code = redisCodeOf(error);
  const refused = code in REFUSALS;
  return { code, reason: reasonFor(code), hint: `${hintFor(code)} ${LEADS_WAIT}`, refused };
}

function reasonFor(code: string): string {
  if (code.startsWith(SENTINELS)) return sentinelReason(code.slice(SENTINELS.length));
  if (code in REFUSALS) return `Redis ${REFUSALS[code]?.what} (${code}).`;
  if (code === SILENT) return 'Redis does not answer.';
  return isOfTls(code)
    ? `Redis ${networkFailure(Object.assign(new Error(), { code })).what}.`
    : `Redis cannot be reached (${code}).`;
}

function sentinelReason(code: string): string {
  if (code === UNKNOWN_MASTER) return 'No sentinel knows a master of this name.';
  if (code in REFUSALS) return `No sentinel can be used. The last one ${REFUSALS[code]?.what} (${code}).`;
  return `No sentinel can be reached (${code}).`;
}

const CLIENT_CERTIFICATE =
  'Redis may ask for a client certificate: set queue.redis.tls.cert and queue.redis.tls.key, signed by an authority that Redis trusts.';

/**
 * Returns the next step after a failed connection with TLS and without a client certificate. A server that requires one and gets none closes the
 * connection (RFC 8446, section 4.4.2.4), and its alert often arrives too late to be read.
 */
export function hintWithoutCertificate(code: string): string {
  const isClosed = ['ECONNRESET', 'EPIPE', 'the connection failed'].includes(code);
  return isClosed ? CLIENT_CERTIFICATE : hintFor(code);
}

/** Returns the next step after a failure, for a command that does not wait until Redis works again. */
export function hintFor(code: string): string {
  if (code.startsWith(SENTINELS)) return sentinelHint(code.slice(SENTINELS.length));
  return REFUSALS[code]?.hint ?? (isOfTls(code) ? tlsHint(code) : UNREACHED);
}

function sentinelHint(code: string): string {
  if (code === UNKNOWN_MASTER) return 'Check queue.redis.master: `SENTINEL MASTERS` lists the names.';
  if (code in REFUSALS)
    return 'Check queue.redis.sentinel_username and queue.redis.sentinel_password: sentinels have their own users.';
  return 'Check queue.redis.sentinels and queue.redis.tls, and that the sentinels are running.';
}

function isOfTls(code: string): boolean {
  return /CERT|SELF_SIGNED|SIGNATURE|^ERR_SSL_|^ERR_TLS_|^EPROTO$/.test(code);
}

function tlsHint(code: string): string {
  if (/ALERT/.test(code)) return CLIENT_CERTIFICATE;
  if (/^ERR_SSL_|^EPROTO$/.test(code)) return 'Check that the port uses TLS.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Use a name that is in the certificate.';
  return 'Set queue.redis.tls.ca to the certificate of the authority that signed it.';
}

/** Whether a new connection may help: after a fail-over, the host name may point to another server. */
export function reconnectMayHelp({ code, refused }: RedisFailure): boolean {
  return code === 'READONLY' || code === 'UNBLOCKED' || code === 'MASTERDOWN' || !refused;
}

/** Redis did not answer a command in time. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * Returns the code of a failure, without the address. An error from Redis begins with its code (RESP simple errors); an error from a script
 * has the code after `ERR`. ioredis puts the cause of some failures into `lastNodeError`, or at the end of its own message.
 */
export function redisCodeOf(error: unknown): string {
  if (error instanceof NoAnswer) return SILENT;
  const { code, name, message = '', lastNodeError } = error as RedisError;
  if (lastNodeError) return redisCodeOf(lastNodeError);
  const [, ofSentinels, last] = WITH_CAUSE.exec(message) ?? [];
  if (ofSentinels !== undefined)
    return `${SENTINELS}${last && !/No such master/.test(last) ? codeIn(last) : UNKNOWN_MASTER}`;
  if (last !== undefined) return codeIn(last);
  return code ?? codeIn(message, name);
}

interface RedisError {
  readonly code?: string;
  readonly name?: string;
  readonly message?: string;
  readonly lastNodeError?: unknown;
}

const WITH_CAUSE =
  /^(?:(All sentinels are unreachable)|Too many Cluster redirections)(?:.*?Last error: (.*))?/s;

/** Returns the code in an error message. */
function codeIn(message: string, name?: string): string {
  const said = /^(?:ReplyError: )?(?:ERR Error running script.*?)?\W*([A-Z]{3,})\b/.exec(message)?.[1];
  if (said !== undefined && said in REFUSALS) return said;
  if (message === 'Command timed out') return SILENT;
  const ofSystem = /^(?:connect|read|write|getaddrinfo) (E[A-Z_]+)\b/.exec(message)?.[1];
  if (ofSystem !== undefined) return ofSystem;
  return name === undefined || name === 'Error' ? 'the connection failed' : name;
}
