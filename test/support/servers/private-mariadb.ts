import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteProcess } from '../program/run-folder.ts';
import {
  ended,
  firstExecutable,
  freePort,
  reachable,
  stopProcess,
  unprivilegedOwner,
} from './server-process.ts';

/** A MariaDB server on loopback for one test. Its user `root` has no password. */
export interface PrivateMariadb {
  /** The address of the database `mysql`, as root. */
  readonly url: string;
  readonly port: number;
  /** The path of its socket. */
  readonly socket: string;
  readonly process: ChildProcess;
  /** Ends the server immediately, as a crash would; its data stays. */
  crash(): Promise<void>;
  /** Starts the server again on its data and port, after a crash. */
  restart(): Promise<void>;
  /** Freezes the server, and resumes it. */
  freeze(): void;
  thaw(): void;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

/** Returns the paths of the server and of the program that creates its data, or undefined. */
export function findMariadb(): { install: string; server: string } | undefined {
  const folders = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
  const install = firstExecutable('mariadb-install-db', folders);
  const server = firstExecutable('mariadbd', folders);
  return install && server ? { install, server } : undefined;
}

/**
 * Starts a MariaDB on a free port; `settings` (`max-allowed-packet: 1M`) override the defaults for tests.
 * @throws Error if there is none or it does not start
 */
export async function startMariadb(
  options: { settings?: Readonly<Record<string, string | number>> } = {},
): Promise<PrivateMariadb> {
  const binaries = findMariadb();
  if (binaries === undefined) throw new Error('MariaDB (mariadbd, mariadb-install-db) is not installed.');
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-mariadb-'));
  const owner = unprivilegedOwner('mysql');
  // The server refuses to run as root.
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const data = join(folder, 'data');
    const how: SpawnOptions = {
      ...owner,
      cwd: folder,
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC', TMPDIR: folder },
    };
    const fresh = [
      '--no-defaults',
      `--datadir=${data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ];
    execFileSync(binaries.install, fresh, { ...how, stdio: ['ignore', 'ignore', 'pipe'] });
    const [port, socket] = [await freePort(), join(folder, 'socket')];
    const args = serverArguments({ datadir: data, socket, port, ...options.settings });
    const start = () => {
      const server = spawn(binaries.server, args, { ...how, stdio: 'ignore', detached: true });
      noteProcess(server);
      return server;
    };
    const mariadb = {
      url: `mysql://root@127.0.0.1:${port}/mysql`,
      port,
      socket,
      process: start(),
      crash: () => stopProcess(mariadb.process, 'SIGKILL'),
      restart: async () => {
        mariadb.process = start();
        await Promise.race([reachable(port), ended(mariadb.process, 'mariadbd')]);
      },
      freeze: () => void mariadb.process.kill('SIGSTOP'),
      thaw: () => void mariadb.process.kill('SIGCONT'),
      close: async () => {
        mariadb.thaw();
        await stopProcess(mariadb.process, 'SIGTERM');
        remove();
      },
    };
    try {
      await Promise.race([reachable(port), ended(mariadb.process, 'mariadbd')]);
    } catch (error) {
      await mariadb.close();
      throw error;
    }
    return mariadb;
  } catch (error) {
    remove();
    throw error;
  }
}

function serverArguments(settings: Readonly<Record<string, string | number>>): string[] {
  const all = {
    'bind-address': '127.0.0.1',
    // The server lives for one test run: nothing has to survive a power cut.
    'innodb-flush-log-at-trx-commit': 0,
    'innodb-buffer-pool-size': '64M',
    'default-time-zone': '+03:00',
    ...settings,
  };
  return [
    '--no-defaults',
    '--skip-name-resolve',
    ...Object.entries(all).map(([name, value]) => `--${name}=${value}`),
  ];
}
