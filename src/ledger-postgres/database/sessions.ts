import type { ClientBase } from 'pg';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { withinDeadline } from '../../platform/time/deadline.ts';
import { isOfServer } from '../../postgres/server-error.ts';
import type { Settings } from './settings.ts';

/** The part of a server's history that its commits belong to. A standby that becomes the primary begins a new timeline, with a higher number. */
interface History {
  /** The identifier that a server shares with its standbys. */
  readonly system: string;
  readonly timeline: string;
}

/** The session that a connection began with. */
interface Session {
  /** The id of the server's process. */
  readonly pid: number;
  readonly history: History;
  /** How often `expireAll` had been called when the connection was made. */
  readonly round: number;
}

const PREPARE_MS = 10_000;
const never = new AbortController().signal;

/**
 * The sessions of this process on the ledger's server. A connection is used only while all of these conditions hold:
 *
 * - The server accepts writes. A standby may return old data, and a decision based on old data may be wrong.
 * - The server has the latest history that any connection has found. After a failover, a former primary can still answer, and may know commits that
 *   are lost.
 * - Each transaction runs in the session of its connection, which has the settings that the ledger relies on. A pooler in transaction mode
 *   may give each transaction another session.
 */
export class Sessions {
  readonly #where: string;
  readonly #sessions = new WeakMap<ClientBase, Session>();
  /** The sessions of open connections, by process and start. */
  readonly #open = new Set<string>();
  #latest: History | undefined;
  #round = 0;

  /** `where` is the name of the server for messages. */
  constructor(where: string) {
    this.#where = where;
  }

  /** Returns a function that makes a new connection ready, with these settings. It throws LedgerError if the connection must not be used. */
  withSettings(settings: Settings): (client: ClientBase) => Promise<void> {
    return (client) => withinDeadline(PREPARE_MS, never, () => this.#prepare(client, settings));
  }

  /** Whether the connection may still be used. If not, it must be closed. */
  isValid(client: ClientBase): boolean {
    const session = this.#sessions.get(client);
    if (!session || !this.#latest) return false;
    return session.round === this.#round && isSame(session.history, this.#latest);
  }

  /** Makes all connections invalid, because their server has turned out to accept no writes. */
  expireAll(): void {
    this.#round += 1;
  }

  /** Returns a text that names the history of the connection's server. Row numbers mean the same rows only within one history. */
  historyOf(client: ClientBase): string {
    const { system = '', timeline = '' } = this.#sessions.get(client)?.history ?? {};
    return `${system}/${timeline}`;
  }

  /** Throws LedgerError unless a transaction of the connection runs in its session. `pid` is the id of the server's process in the transaction. */
  requireOwn(client: ClientBase, pid: number | undefined): void {
    if (this.#sessions.get(client)?.pid !== pid) throw pooled(this.#where);
  }

  async #prepare(client: ClientBase, settings: Settings): Promise<void> {
    const round = this.#round;
    const { rows } = await client.query<SessionRow>(SESSION);
    const { is_standby, pid, began } = rows[0] as SessionRow;
    if (is_standby) throw standby(this.#where, 'accepts no writes: it is a standby, or set to read-only');
    const session = `${pid} ${began}`;
    if (this.#open.has(session)) throw pooled(this.#where);
    // Before the next statement, because another connection may be made ready at the same time.
    this.#open.add(session);
    client.once('end', () => this.#open.delete(session));
    const history = await historyAt(client);
    if (this.#latest && isOlder(history, this.#latest))
      throw standby(this.#where, 'is a former primary: another server has taken its place');
    this.#latest = history;
    const set = await client.query<{ pid: number }>(SET, [Object.keys(settings), Object.values(settings)]);
    if (set.rows[0]?.pid !== pid) throw pooled(this.#where);
    await client.query(NOTICE_LOST_CLIENTS).catch(unlessServerRefuses);
    this.#sessions.set(client, { pid, history, round });
  }
}

/** Returns the history of the server. It has no parts if the server does not tell: those of some providers keep their commits elsewhere. */
async function historyAt(client: ClientBase): Promise<History> {
  const { rows } = await client.query<History>(HISTORY).catch((error) => {
    unlessServerRefuses(error);
    return { rows: [] };
  });
  return rows[0] ?? { system: '', timeline: '' };
}

function unlessServerRefuses(error: unknown): void {
  if (!isOfServer(error) || /^(08|57P)/.test(error.code ?? '')) throw error;
}

function isSame(one: History, other: History): boolean {
  return one.system === other.system && one.timeline === other.timeline;
}

/** Whether a history ended before another one. The text of a timeline is a hexadecimal number of 8 digits. */
function isOlder({ system, timeline }: History, latest: History): boolean {
  return system === latest.system && timeline < latest.timeline;
}

function standby(where: string, what: string): LedgerError {
  return new LedgerError(
    'standby',
    `The ledger in ${where} cannot be used, because the server ${what}.`,
    'leadsync tries again by itself. If this continues, set the address to the primary server. If the server was restored from a backup, restart leadsync.',
  );
}

function pooled(where: string): LedgerError {
  return new LedgerError(
    'pooled',
    `The ledger in ${where} cannot be used through a connection pooler that runs the transactions of a connection in different sessions.`,
    'Set the address to the server itself, or let the pooler pool sessions (PgBouncer: pool_mode = session).',
  );
}

interface SessionRow {
  is_standby: boolean;
  pid: number;
  began: string;
}

const SESSION = `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_standby, pg_backend_pid() AS pid,
  (SELECT a.backend_start::text FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()) AS began`;
const HISTORY = `SELECT system_identifier::text AS system, left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline FROM pg_control_system()`;
/**
 * Older servers lack some of the settings. A commit must survive a crash of the server, even where the default of the server, the database or the role
 * is `off`.
 */
const SET = `SELECT pg_backend_pid() AS pid, count(set_config(g.name, g.value, false)) AS set FROM (
    SELECT u.name, u.value FROM unnest($1::text[], $2::text[]) AS u (name, value)
    UNION ALL SELECT 'synchronous_commit', 'on' WHERE current_setting('synchronous_commit') = 'off') g
  WHERE EXISTS (SELECT 1 FROM pg_settings s WHERE lower(s.name) = g.name)`;
/** Lets the server end a statement whose client is gone. Servers on some systems cannot notice that, and refuse the setting. */
const NOTICE_LOST_CLIENTS = "SELECT set_config('client_connection_check_interval', '5s', false)";
