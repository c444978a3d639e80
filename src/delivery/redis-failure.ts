/** Why Redis cannot be used, and what the operator can do. */
export interface RedisFailure {
  /** Redis's own error code, the system's, or a few words. */
  readonly code: string;
  /** One plain sentence, without the address: that may hold a password. */
  readonly reason: string;
  readonly hint: string;
  /** Redis answered, and the answer was a refusal; else the connection failed. */
  readonly refused: boolean;
}

const SILENT = 'it does not answer';
/** What a Redis that is away costs. */
export const LEADS_WAIT = 'Polls go on; leads wait in the ledger and lose nothing.';

/** What Redis says when it is there and does not do what it is asked: the first word of its answer. */
const REFUSALS: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  OOM: {
    what: 'is out of memory and takes no jobs',
    hint: 'Raise maxmemory, or find what else fills it: leadsync itself keeps little there.',
  },
  READONLY: {
    what: 'is a read-only replica and takes no jobs',
    hint: 'After a fail-over this ends by itself where queue.redis_url names whatever is the master; else name the master there.',
  },
  LOADING: { what: 'is reading its data from disk', hint: 'Wait until that is done.' },
  MASTERDOWN: { what: 'is a replica that has lost its master', hint: 'Name the master in queue.redis_url.' },
  MISCONF: {
    what: 'takes no writes because it cannot save its data',
    hint: "See Redis's own log; its disk may be full.",
  },
  BUSY: {
    what: 'is kept busy by a script',
    hint: 'See who else uses it; SCRIPT KILL ends a script that hangs.',
  },
  NOREPLICAS: {
    what: 'takes no writes because too few replicas follow it',
    hint: 'Start its replicas, or lower min-replicas-to-write.',
  },
  CLUSTERDOWN: { what: 'is a cluster that is down', hint: "See the cluster's own state: CLUSTER INFO." },
  MOVED: { what: 'is part of a cluster', hint: 'Name a Redis that is none: cluster mode is not spoken.' },
  NOAUTH: {
    what: 'asks for a password',
    hint: 'Put the password into queue.redis_url: redis://:PASSWORD@HOST:PORT.',
  },
  WRONGPASS: {
    what: 'does not accept the password',
    hint: 'Correct the user name or password in queue.redis_url.',
  },
  NOPERM: {
    what: 'does not let this user do it',
    hint: 'Give the user in queue.redis_url the right to every command.',
  },
  UNBLOCKED: { what: 'has changed its role', hint: 'leadsync connects again by itself.' },
};

const UNREACHED = 'Check queue.redis_url and that Redis runs.';

/** Puts a failed command or connection into words. */
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

/** What to do about a failure, for somebody who does not wait. */
export function hintFor(code: string): string {
  return REFUSALS[code]?.hint ?? UNREACHED;
}

/** Whether another connection may lead to a Redis that does it: a name can mean another server after a fail-over. */
export function reconnectMayHelp({ code, refused }: RedisFailure): boolean {
  return code === 'READONLY' || code === 'UNBLOCKED' || code === 'MASTERDOWN' || !refused;
}

/** A command that was not answered in time. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * The code of a failure, without the address. Redis's answers begin with theirs (the RESP protocol's simple errors); a
 * script's error has it behind `ERR`.
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
