import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from '../test/support/servers/server-process.ts';

/** Linux counts CPU time for programs in hundredths of a second (USER_HZ), whatever its own clock is. */
const MS_PER_TICK = 10;
const SAMPLE_MS = 20;

/** What a process has used from its start to its end. */
export interface Use {
  readonly wallMs: number;
  /** User and system time of all its threads. */
  readonly cpuMs: number;
  /** The most memory that it ever held (resident), in MB. */
  readonly peakMb: number;
}

export interface Started {
  readonly process: { readonly pid?: number | undefined };
  readonly exited: Promise<unknown>;
}

/**
 * Runs a process to its end and says what it used. CPU time is that which the kernel books on us when a child of ours
 * has ended: exact to its last moment, and right only while no other child ends meanwhile.
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

/** User and system time of a running process in ms. */
export function cpuMsOf(pid: number | undefined): number {
  const [user = 0, system = 0] = statOf(`/proc/${pid}/stat`).slice(11, 13);
  return (user + system) * MS_PER_TICK;
}

/** The most memory that a running process has held, in MB; undefined once it has ended. */
export function peakMbOf(pid: number | undefined): number | undefined {
  return statusMb(pid, 'VmHWM');
}

/** User and system time of a process and of all that it has started, those that have ended included, in ms. */
export function treeCpuMsOf(pid: number | undefined): number {
  try {
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = statOf(`/proc/${pid}/stat`).slice(11, 15);
    const own = (user + system + endedUser + endedSystem) * MS_PER_TICK;
    return childrenOf(pid).reduce((sum, child) => sum + treeCpuMsOf(child), own);
  } catch {
    return 0; // it has ended meanwhile: its parent's time has it
  }
}

/** The memory that a running process holds now, in MB; undefined once it has ended. */
export function residentMbOf(pid: number | undefined): number | undefined {
  return statusMb(pid, 'VmRSS');
}

/** Begins the peak of a running process anew (proc(5), clear_refs). */
export function resetPeak(pid: number | undefined): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Asks every process that this one has started and that still runs to end. */
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

/** The fields of proc(5) stat after the program's name, which may hold blanks: the state is first. */
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
