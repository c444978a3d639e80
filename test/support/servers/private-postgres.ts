import {
  type ChildProcess,
  type ExecFileSyncOptions,
  execFileSync,
  type SpawnOptions,
  spawn,
} from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { noteProcess } from '../program/run-folder.ts';
import { until } from '../time/until.ts';
import {
  ended,
  firstExecutable,
  freePort,
  reachable,
  sendSignal,
  stopProcess,
  unprivilegedOwner,
} from './server-process.ts';

/** A PostgreSQL server on loopback for one test, with an empty database. */
export interface PrivatePostgres {
  readonly url: string;
  readonly port: number;
  readonly process: ChildProcess;
  /** Ends the server immediately, as a crash would; its data stays. */
  crash(): Promise<void>;
  /** Starts the server again on its data and port, after a crash. */
  restart(): Promise<void>;
  /** Freezes every process of the server, and resumes them. */
  freeze(): void;
  thaw(): void;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

/** Returns the folder of `initdb` and `postgres`, or undefined. Debian keeps them outside PATH. */
export function findPostgres(): { initdb: string; postgres: string } | undefined {
  const folders = [
    ...versionsIn('/usr/lib/postgresql', 'bin'),
    ...versionsIn('/opt/homebrew/opt', 'bin', 'postgresql'),
    ...versionsIn('/usr/local/opt', 'bin', 'postgresql'),
    ...versionsIn('/Applications/Postgres.app/Contents/Versions', 'bin'),
    ...versionsIn('/usr', 'bin', 'pgsql-'),
    '/usr/local/pgsql/bin',
  ];
  const initdb = firstExecutable('initdb', folders);
  const postgres = firstExecutable('postgres', folders);
  return initdb && postgres ? { initdb, postgres } : undefined;
}

/**
 * Starts a PostgreSQL on a free port; `settings` (`fsync: 'on'`) override the defaults for tests. `standbyOf` is the address of a server of which the new
 * one becomes a standby. @throws Error if there is none or it does not start
 */
export async function startPostgres(
  options: { settings?: Readonly<Record<string, string | number>>; standbyOf?: string } = {},
): Promise<PrivatePostgres> {
  const binaries = findPostgres();
  if (binaries === undefined) throw new Error('PostgreSQL (initdb, postgres) is not installed.');
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-postgres-'));
  const owner = unprivilegedOwner('postgres');
  // Both refuse to run as root, and the server insists on owning its folder.
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const data = join(folder, 'data');
    const how = { ...owner, cwd: folder, env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' } };
    const quiet: ExecFileSyncOptions = { ...how, stdio: ['ignore', 'ignore', 'pipe'] };
    if (options.standbyOf === undefined)
      execFileSync(
        binaries.initdb,
        ['-D', data, '-U', 'leadsync', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
        quiet,
      );
    else
      execFileSync(
        join(dirname(realpathSync(binaries.initdb)), 'pg_basebackup'),
        ['-D', data, '-d', options.standbyOf, '-R', '-c', 'fast', '--no-sync'],
        quiet,
      );
    const port = await freePort();
    const args = serverArguments(data, folder, port, options.settings);
    const server = new PostgresServer(binaries.postgres, args, how, { data, port });
    const close = async () => {
      await server.stop();
      remove();
    };
    try {
      await server.start();
    } catch (error) {
      await close();
      throw error;
    }
    return Object.assign(server, { url: `postgresql://leadsync@127.0.0.1:${port}/postgres`, close });
  } catch (error) {
    remove();
    throw error;
  }
}

/** The server of a folder, which can be started, ended and started again. */
class PostgresServer {
  readonly port: number;
  process: ChildProcess;
  readonly #start: () => ChildProcess;
  readonly #pidFile: string;

  constructor(
    binary: string,
    args: readonly string[],
    how: SpawnOptions,
    { data, port }: { data: string; port: number },
  ) {
    this.port = port;
    this.#pidFile = join(data, 'postmaster.pid');
    this.#start = () => {
      const server = spawn(binary, args, { ...how, stdio: ['ignore', 'ignore', 'ignore'], detached: true });
      // SIGKILL would leave its shared memory behind.
      noteProcess(server, 'SIGQUIT');
      return server;
    };
    this.process = this.#start();
  }

  async start(): Promise<void> {
    await Promise.race([this.#ready(), ended(this.process, 'postgres')]);
  }

  /** Resolves when the server takes queries: while it recovers, it accepts connections and refuses each of them. */
  async #ready(): Promise<void> {
    await reachable(this.port);
    const isReady = () => {
      // The lines of the file (miscadmin.h, LOCK_FILE_LINE_*): the first is the process id, the last the state of the server.
      const lines = existsSync(this.#pidFile) ? readFileSync(this.#pidFile, 'utf8').split('\n') : [];
      const state = lines[7]?.trim() ?? '';
      return lines[0] === String(this.process.pid) && ['ready', 'standby'].includes(state);
    };
    await until('PostgreSQL takes queries', isReady, 30_000);
  }

  async restart(): Promise<void> {
    this.process = this.#start();
    await this.start();
  }

  async stop(): Promise<void> {
    this.thaw();
    // SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
    await stopProcess(this.process, 'SIGINT');
  }

  /** Sends SIGQUIT: every process ends immediately, and the next start recovers from the log, as after SIGKILL. */
  async crash(): Promise<void> {
    this.thaw();
    await stopProcess(this.process, 'SIGQUIT');
  }

  freeze(): void {
    this.#sendToAll('SIGSTOP');
  }

  thaw(): void {
    this.#sendToAll('SIGCONT');
  }

  /** Signals the server and, on Linux, its process for each connection, which come and go by themselves. */
  #sendToAll(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    // Signal the server first: once stopped, it starts no more processes.
    sendSignal(pid, signal);
    const list = `/proc/${pid}/task/${pid}/children`;
    const children = existsSync(list) ? readFileSync(list, 'utf8').trim().split(' ').filter(Boolean) : [];
    for (const child of children) sendSignal(Number(child), signal);
  }
}

function serverArguments(
  data: string,
  folder: string,
  port: number,
  wanted: Readonly<Record<string, string | number>> = {},
): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: folder,
    // The server lives for one test run: nothing has to survive a power cut.
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: 200,
    log_min_messages: 'fatal',
    timezone: 'UTC',
    ...wanted,
  };
  return ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** Returns `folder/<version>/bin`, newest version first. */
function versionsIn(folder: string, below: string, prefix = ''): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.startsWith(prefix))
      .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
      .map((name) => join(folder, name, below));
  } catch {
    // This system has no such folder.
    return [];
  }
}
