import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Returns the first path at which a program can be run: on PATH, then in the given folders. */
export function firstExecutable(name: string, folders: readonly string[]): string | undefined {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...onPath, ...folders].map((folder) => join(folder, name)).find(isExecutable);
}

// Below 32,768, where Linux starts to assign ports itself (ip(7), ip_local_port_range): a port from there could be assigned to another
// process between two starts of the same server. Each test process that runs in parallel gets its own range.
const FIRST_PORT = 20_000;
const PORTS_EACH = 500;
const PROCESSES = 24;

let nextPort = Math.floor(Math.random() * PORTS_EACH);

/** Returns a port on loopback on which no process listens, outside the range from which the system assigns ports. */
export async function freePort(): Promise<number> {
  const first = FIRST_PORT + (Number(process.env['VITEST_POOL_ID'] ?? 0) % PROCESSES) * PORTS_EACH;
  for (let tried = 0; tried < PORTS_EACH; tried += 1) {
    const port = first + (nextPort++ % PORTS_EACH);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${first} to ${first + PORTS_EACH - 1} is free`);
}

/** Resolves when a process accepts connections on the port. @throws Error after 30 s */
export async function reachable(port: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await accepts(port))) {
    if (performance.now() > deadline) throw new Error(`nothing listens on port ${port} after 30 s`);
    await sleep(25);
  }
}

/** Never resolves; rejects when the process ends or cannot start, which a server must not do while the caller waits for it. */
export function ended(child: ChildProcess, name: string): Promise<never> {
  return new Promise((_, reject) => {
    child.once('error', (error) => reject(new Error(`${name} could not be started: ${error.message}`)));
    child.once('exit', (code, signal) => reject(new Error(`${name} ended at once (${signal ?? code})`)));
  });
}

/** Sends a signal; ignores a process that has ended meanwhile. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Sends the signal and waits for the end; sends SIGKILL after 5 s. */
export async function stopProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  const insist = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await exited;
  clearTimeout(insist);
}

/**
 * Returns the user as whom a server runs that refuses to run as root: `user`, or else nobody. Undefined if this process is not root.
 * @throws Error if neither user exists
 */
export function unprivilegedOwner(user: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of [user, 'nobody']) {
    try {
      const idOf = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }).toString());
      return { uid: idOf('-u'), gid: idOf('-g') };
    } catch {
      // This user does not exist; try the next.
    }
  }
  throw new Error(`The server does not run as root, and there is neither a user ${user} nor a user nobody.`);
}

/** Whether no process listens on the port of 127.0.0.1. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Whether a process on loopback accepts connections on the port. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // The file is missing or not executable: try the next.
    return false;
  }
}
