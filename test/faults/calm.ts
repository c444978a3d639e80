import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Daemon } from '../support/program/leadsync.ts';
import { until } from '../support/time/until.ts';

/** What a daemon with nothing to do may use of one core, the polls of every second included. */
export const MOST_CPU = 0.3;
/** So often does /proc count the time of a process, per second (USER_HZ on Linux). */
const TICKS_PER_SECOND = 100;

/** Expects a daemon that has come to rest: it answers its probes, and does not spin. */
export async function expectCalm(daemon: Daemon): Promise<void> {
  expect((await fetch(`${daemon.adminUrl}/livez`)).status).toBe(200);
  await until('leadsync is ready', async () => (await fetch(`${daemon.adminUrl}/readyz`)).ok, 20_000);
  await until('leadsync uses little CPU', async () => (await cpuOf(daemon)) < MOST_CPU, 15_000);
}

/** The part of one core that it uses over half a second; 0 where there is no /proc. */
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
  // proc(5): the name, in parentheses, may hold blanks; utime and stime are the 14th and 15th field.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
