import { expect, onTestFinished, test } from 'vitest';
import { startLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { isOwing } from '../support/scene/is-owing.ts';
import { accountOf, faultsOf, repeatsOfKills } from '../support/scene/oracle.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';

const LEADS = 400;

test('two workers beside a run that does not deliver deliver every lead once, although one of them is killed', async () => {
  const scene = await aScene('bullmq', { stub: { leads: 100, leadsPerSecond: 100 } });
  const daemon = await scene.start({ args: ['run', '--no-deliver'] });
  const workers = [startWorker(scene), startWorker(scene)];
  onTestFinished(() => {
    for (const { process } of workers) process.kill('SIGKILL');
  });
  await until('the workers are at work', () => scene.receiver.received.length > 50, 20_000);
  await workers[0]?.kill('SIGKILL');
  await until('enough leads are shown', () => scene.stub.shown >= LEADS, 20_000);
  scene.stub.arrive(0);
  await until('every lead is everywhere', () => scene.complete(), 60_000);
  // Leads that the killed worker brought without settling are at every sink too, and are still pending.
  await until('what the killed worker held is settled', async () => !(await isOwing(scene.adminUrl)), 60_000);
  for (const { kill } of [daemon, workers[1]].filter((process) => process !== undefined)) {
    expect(await kill('SIGTERM')).toEqual({ code: 0, signal: null });
  }
  expect(faultsOf(await accountOf(scene), { repeats: repeatsOfKills(1) })).toEqual([]);
});

function startWorker(scene: Scene) {
  return startLeadsync(['worker', '-c', scene.configFile]);
}
