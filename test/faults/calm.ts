import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Daemon } from '../support/program/leadsync.ts';
import { until } from '../support/time/until.ts';

/** Maximum share of one core that an idle daemon may use, including a poll every second. */
export const MOST_CPU = 0.3;
/** The unit in which /proc counts a process's CPU time, per second (USER_HZ on Linux). */
const TICKS_PER_SECOND = 100;

/** Expects an idle daemon: it answers its probes and does not spin. */
export async function expectCalm(daemon: Daemon): Promise<void> {
  expect((await fetch(`${daemon.adminUrl}/livez`)).status).toBe(200);
  await until('leadsync is ready', async () => (await fetch(`${daemon.adminUrl}/readyz`)).ok, 20_000);
  await until('leadsync uses little CPU', async () => (await cpuOf(daemon)) < MOST_CPU, 15_000);
}

/** Returns the share of one core that the process uses over half a second; 0 without /proc. */
export async function cpuOf({ process: { pid } }: Pick<Daemon, 'process'>): Promise<number> {
  const before = cpuSeconds(pid);
  const startMs = performance.now();
  await sleep(500);
  return (cpuSeconds(pid) - before) / ((performance.now() - startMs) / 1000);
}

function cpuSeconds(pid: number | undefined): number {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return 0;
  const text = readFileSync(path, 'utf8');
  // proc(5): the name, in parentheses, may contain blanks; utime and stime are fields 14 and 15.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
