import { expect } from 'vitest';
import type { Daemon } from '../../support/program/leadsync.ts';
import type { Scene } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { cpuOf, MOST_CPU } from '../calm.ts';
import { mustRun, type ToldSource } from '../telling.ts';

/**
 * Expects what holds while Redis cannot be used: leadsync is alive, reports in `status` and its probe that it is not ready, records at
 * least this many listed leads, and does not spin.
 */
export async function expectWorkWithoutQueue(scene: Scene, daemon: Daemon, leads: number): Promise<void> {
  expect((await fetch(`${daemon.adminUrl}/livez`)).status).toBe(200);
  await until('leadsync is not ready', async () => (await fetch(`${daemon.adminUrl}/readyz`)).status === 503);
  await until(
    'status shows the leads, and why they wait',
    async () => {
      const told = JSON.parse(await mustRun(scene, 'status', '--json')) as {
        unready: string[];
        sources: ToldSource[];
      };
      return (
        told.unready.some((reason) => reason.includes('Redis')) && (told.sources[0]?.leads ?? 0) >= leads
      );
    },
    30_000,
  );
  await until('leadsync uses little CPU', async () => (await cpuOf(daemon)) < MOST_CPU, 15_000);
}
