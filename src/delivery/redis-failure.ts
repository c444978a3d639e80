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

/** The errors by which Redis refuses commands, by the first word of its answer. */
const REFUSALS: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  OOM: {
    what: 'is out of memory and accepts no jobs',
    hint: 'Raise maxmemory, or find out which other program uses the memory: leadsync stores little there.',
  },
  READONLY: {
    what: 'is a read-only replica and accepts no jobs',
    hint: 'Set queue.redis_url to the master, or to a host name that follows the master: leadsync then recovers from a fail-over by itself.',
  },
  LOADING: { what: 'is loading its data from disk', hint: 'Wait until it has finished.' },
  MASTERDOWN: {
    what: 'is a replica that has lost its master',
    hint: 'Set queue.redis_url to the master.',
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
  CLUSTERDOWN: { what: 'is a cluster that is down', hint: 'Check the state of the cluster: CLUSTER INFO.' },
  MOVED: {
    what: 'is part of a cluster',
    hint: 'Set queue.redis_url to a Redis outside a cluster: leadsync does not support cluster mode.',
  },
  NOAUTH: {
    what: 'requires a password',
    hint: 'Put the password into queue.redis_url: redis://:PASSWORD@HOST:PORT.',
  },
  WRONGPASS: {
    what: 'does not accept the password',
    hint: 'Correct the user name or password in queue.redis_url.',
  },
  NOPERM: {
    what: 'does not allow this user to run the command',
    hint: 'Give the user in queue.redis_url permission for every command.',
  },
  UNBLOCKED: { what: 'has changed its role', hint: 'leadsync reconnects by itself.' },
};

const UNREACHED = 'Check queue.redis_url, and that Redis is running.';

/** Returns the description of a failed command or connection. */
export function redisFailure(error: unknown): RedisFailure {
  const code = redisCodeOf(error);
  const refusal = REFUSALS[code];
  if (refusal) {
    const hint = `${refusal.hint} ${LEADS_WAIT}`;
    return { code, reason: `Redis ${refusal.what} (${code}).`, hint, refused: true };
  }
  const reason = code === SILENT ? 'Redis does not answer.' : `Redis cannot be reached (${code}).`;
  return { code, reason, hint: `${UNREACHED} ${LEADS_WAIT}`, refused: false };
}

/** Returns the next step after a failure, for a command that does not wait until Redis works again. */
export function hintFor(code: string): string {
  return REFUSALS[code]?.hint ?? UNREACHED;
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
 * has the code after `ERR`.
 */
export function redisCodeOf(error: unknown): string {
  if (error instanceof NoAnswer) return SILENT;
  const { code, name, message = '' } = error as { code?: string; name?: string; message?: string };
  if (code) return code;
  const said = /^(?:ERR Error running script.*?)?\W*([A-Z]{3,})\b/.exec(message)?.[1];
  if (said !== undefined && said in REFUSALS) return said;
  if (message === 'Command timed out') return SILENT;
  return name === undefined || name === 'Error' ? 'the connection failed' : name;
}
