import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from '../test/support/servers/server-process.ts';

/** Linux reports CPU time in hundredths of a second (USER_HZ), whatever the tick of the kernel is. */
const MS_PER_TICK = 10;
const SAMPLE_MS = 20;

/** The resources that a process used from its start to its end. */
export interface Use {
  readonly wallMs: number;
  /** User and system time of all threads. */
  readonly cpuMs: number;
  /** Peak of its resident memory. */
  readonly peakMb: number;
}

/** A process that was started. `exited` resolves or rejects when it has ended. */
export interface Started {
  readonly process: { readonly pid?: number | undefined };
  readonly exited: Promise<unknown>;
}

/**
 * Runs a process to its end and returns the resources that it used. The CPU time is what the kernel adds to this process's count of
 * ended children. It includes the whole life of the child, and is correct only if no other child ends meanwhile.
 */
export async function useOf(start: () => Started): Promise<Use> {
  const cpuBeforeMs = endedChildrenCpuMs();
  const startMs = performance.now();
  const { process, exited } = start();
  let over = false;
  let wallMs = 0;
  const end = exited.finally(() => {
    over = true;
    wallMs = performance.now() - startMs;
  });
  let peakMb = 0;
  while (!over) {
    peakMb = Math.max(peakMb, peakMbOf(process.pid) ?? 0);
    await Promise.race([sleep(SAMPLE_MS), end]);
  }
  return { wallMs, cpuMs: endedChildrenCpuMs() - cpuBeforeMs, peakMb };
}

/** Returns the user and system time of a running process in ms. */
export function cpuMsOf(pid: number | undefined): number {
  const [user = 0, system = 0] = statOf(`/proc/${pid}/stat`).slice(11, 13);
  return (user + system) * MS_PER_TICK;
}

/** Returns the peak of the resident memory of a running process in MB; undefined once it has ended. */
export function peakMbOf(pid: number | undefined): number | undefined {
  return statusMb(pid, 'VmHWM');
}

/** Returns the user and system time of a process and all of its descendants, running and ended, in ms. */
export function treeCpuMsOf(pid: number | undefined): number {
  try {
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = statOf(`/proc/${pid}/stat`).slice(11, 15);
    const own = (user + system + endedUser + endedSystem) * MS_PER_TICK;
    return childrenOf(pid).reduce((sum, child) => sum + treeCpuMsOf(child), own);
  } catch {
    return 0; // it has ended meanwhile, so the time of its parent includes it
  }
}

/** Returns the resident memory of a running process in MB; undefined once it has ended. */
export function residentMbOf(pid: number | undefined): number | undefined {
  return statusMb(pid, 'VmRSS');
}

/** Resets the peak memory of a running process to its current memory (proc(5), clear_refs). */
export function resetPeak(pid: number | undefined): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Sends SIGTERM to every running child of this process. */
export function endChildren(): void {
  for (const pid of childrenOf(process.pid)) sendSignal(pid, 'SIGTERM');
}

function childrenOf(pid: number | undefined): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

function endedChildrenCpuMs(): number {
  const [user = 0, system = 0] = statOf('/proc/self/stat').slice(13, 15);
  return (user + system) * MS_PER_TICK;
}

/** Returns the fields of proc(5) stat after the name of the program, which may contain blanks. The first is the state. */
function statOf(file: string): number[] {
  return readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? [];
}

function statusMb(pid: number | undefined, field: string): number | undefined {
  try {
    const found = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return found === null ? undefined : Number(found[1]) / 1024;
  } catch {
    return undefined; // it has ended
  }
}
