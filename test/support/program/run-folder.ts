import { type ChildProcess, execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from '../servers/server-process.ts';

/** Names the folder where detached processes are noted: a terminal's signals do not reach them, and a dead test cannot end them. */
const NOTES = 'LEADSYNC_TEST_PROCESSES';
const PATIENCE_MS = 5_000;

/** The folder of one test run: everything that the tests leave behind is in it or noted in it. */
export interface RunFolder {
  readonly path: string;
  /** Environment variables for the processes of the run. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends processes that still run, unmounts file systems, and removes the folder. */
  close(): Promise<void>;
}

/** A noted process. */
interface Note {
  readonly pid: number;
  /** The signal that ends the process. */
  readonly signal: NodeJS.Signals;
  /** Distinguishes the process from a later one with the same number; undefined where the system does not say. */
  readonly startedAt: string | undefined;
}

/** Creates the folder of a run. */
export function openRunFolder(): RunFolder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'leadsync-tests-')));
  // A server that a test starts as another user must be able to traverse the folder.
  chmodSync(path, 0o711);
  const notes = join(path, 'processes');
  mkdirSync(notes);
  return {
    path,
    env: { TMPDIR: path, [NOTES]: notes },
    close: async () => {
      await endNoted(notes);
      unmountIn(path);
      // A process that is ending may still write there.
      rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** Notes a process until it ends, so that the test runner can end it. `signal` ends it without leaving anything behind. */
export function noteProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  const notes = process.env[NOTES];
  const { pid } = child;
  if (!notes || pid === undefined) return;
  const file = join(notes, String(pid));
  const note: Note = { pid, signal, startedAt: stateOf(pid)?.startedAt };
  try {
    writeFileSync(file, JSON.stringify(note));
  } catch (error) {
    child.kill('SIGKILL'); // the run has ended, and no other code would end the process
    throw error;
  }
  child.once('exit', () => rmSync(file, { force: true }));
}

async function endNoted(notes: string): Promise<void> {
  const left = readdirSync(notes).map((name): Note => JSON.parse(readFileSync(join(notes, name), 'utf8')));
  for (const note of left) {
    send(note, 'SIGCONT');
    send(note, note.signal);
  }
  const deadline = performance.now() + PATIENCE_MS;
  while (left.some(runs) && performance.now() < deadline) await sleep(20);
  for (const note of left) send(note, 'SIGKILL');
}

function send(note: Note, signal: NodeJS.Signals): void {
  if (runs(note)) sendSignal(note.pid, signal);
}

function runs({ pid, startedAt }: Note): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const state = stateOf(pid);
  return state === undefined || (state.startedAt === startedAt && !state.dead);
}

/** Returns undefined without /proc, and for a process that has ended. */
function stateOf(pid: number): { startedAt: string | undefined; dead: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Skip the name, which may contain anything: the state is field 3, the start time is field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { startedAt: fields[19], dead: fields[0] === 'Z' };
  } catch {
    return undefined;
  }
}

/** Unmounts the small disks of tests that were interrupted. */
function unmountIn(folder: string): void {
  for (const mounted of mountsIn(folder).toReversed())
    execFileSync('umount', ['--lazy', mounted], { stdio: 'ignore' });
}

function mountsIn(folder: string): string[] {
  try {
    const lines = readFileSync('/proc/self/mounts', 'utf8').split('\n');
    return lines.flatMap((line) => line.split(' ')[1] ?? []).filter((path) => path.startsWith(`${folder}/`));
  } catch {
    return []; // not Linux, so no small disks
  }
}
