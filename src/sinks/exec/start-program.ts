import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { Secret } from '../../platform/options/secret.ts';

/** A program, and the settings of its run. */
export interface Program {
  /** The absolute path of the program. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** A file that the program reads; undefined if it needs none. */
  readonly config?: ConfigFile | undefined;
}

/** A file with secrets that exists while the program runs. */
export interface ConfigFile {
  /** The absolute path of an empty private folder. It is removed when the program has ended, even if leadsync is killed. */
  readonly folder: string;
  readonly content: Secret;
}

/** The name of the file in its folder. */
export const CONFIG_NAME = 'config.json';

/** A program that was started, in a session and process group of its own. */
export interface StartedProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the program and every process of its group have ended, and its outputs are closed. */
  readonly ended: Promise<Ended>;
  /** Sends a signal to the program and to every process of its group. */
  signal(name: NodeJS.Signals): void;
}

/** How a program ended. */
export interface Ended {
  /** The exit code, or 128 plus the number of the signal that ended the program. */
  readonly code: number;
  /** Whether everything that was written to `stdin`, up to its end, was passed on to the program. */
  readonly wasFed: boolean;
}

/**
 * Starts the program between a pipe and a guard.
 *
 * The guard reads descriptor 3, which ends when leadsync ends for whatever reason. The guard then removes the folder and kills the group. The
 * file with secrets, which comes on descriptor 4, is written after the guard was started, so that no kill leaves it behind. `cat` is needed
 * because Node.js connects standard input to a socket, and a program cannot open /dev/stdin if that is a socket. `cat` reports on descriptor
 * 3 when the whole input is in the pipe. Neither the guard nor `cat` obeys SIGTERM, which is for the program. The shell waits for the program
 * and passes its exit code on. The shell also waits for the guard: in a container without an init process, no other process would, and each
 * run would leave a zombie.
 */
const SCRIPT = `trap : TERM
folder=$1; shift
{ trap '' TERM; read -r _; [ -z "$folder" ] || rm -rf -- "$folder"; kill -KILL 0; } <&3 >/dev/null 2>&1 4<&- &
guard=$!
if [ -z "$folder" ] || (umask 077; cat <&4 >"$folder/${CONFIG_NAME}"); then
  { trap '' TERM; cat 2>/dev/null && echo fed >&3; } 4<&- | "$@" 3<&- 4<&-
  code=$?
else
  code=75
fi
[ -z "$folder" ] || rm -rf -- "$folder"
kill -KILL $guard
wait $guard 2>/dev/null
exit $code`;

const UNKNOWN_CODE = 255;
const SIGNALLED = 128;

/**
 * Starts a program. Its input ends when the caller ends `stdin`. The caller must read both outputs. @throws the error from Node.js if no process can
 * be started
 */
export async function startProgram(program: Program): Promise<StartedProgram> {
  const { file, args, cwd, env, config } = program;
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'leadsync', config?.folder ?? '', file, ...args], {
    cwd,
    env,
    detached: true, // a session and group of its own, which can be ended as a whole
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  await once(child, 'spawn');
  const { stdin, stdout, stderr } = child;
  const [guard, secrets] = [child.stdio[3], child.stdio[4]] as [Duplex, Duplex];
  stdin.on('error', () => undefined); // `ended` says whether the program read everything
  guard.on('error', () => undefined);
  secrets.on('error', () => undefined);
  secrets.end(config?.content.reveal());
  let wasFed = false;
  guard.on('data', () => {
    wasFed = true;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once('exit', () => {
      void endGroup(child).then(() => resolve({ code: codeOf(child), wasFed }));
    });
  });
  return { stdin, stdout, stderr, ended, signal: (name) => signalGroup(child, name) };
}

/** Time for which processes that a program started may go on after the program has ended, in ms. */
const LINGER_MS = 1_000;
/** Time between two checks of the process group that a program left behind, in ms. Node.js has no event for the end of a group. */
const LOOK_MS = 20;

/** Waits for processes that the program started and left behind, such as a `gzip` that is still writing, and ends them after a second. */
async function endGroup(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close');
  const untilMs = performance.now() + LINGER_MS;
  // A group that was killed as a whole has nothing to complete.
  const wasKilled = child.signalCode === 'SIGKILL';
  while (!wasKilled && isGroupAlive(child) && performance.now() < untilMs) await setTimeout(LOOK_MS);
  signalGroup(child, 'SIGKILL');
  // A process that left the group may keep the outputs open.
  const timer = new AbortController();
  void setTimeout(Math.max(0, untilMs - performance.now()), undefined, { signal: timer.signal }).then(
    () => {
      for (const stream of child.stdio) stream?.destroy();
    },
    () => undefined,
  );
  await closed;
  timer.abort();
}

function isGroupAlive({ pid }: ChildProcess): boolean {
  try {
    return pid !== undefined && process.kill(-pid, 0);
  } catch {
    return false;
  }
}

function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // Every process of the group has ended.
  }
}

function codeOf({ exitCode, signalCode }: ChildProcess): number {
  if (exitCode !== null) return exitCode;
  return signalCode === null ? UNKNOWN_CODE : SIGNALLED + (constants.signals[signalCode] ?? 0);
}
