import { expect, onTestFinished, test } from 'vitest';
import { startDaemon, startLeadsync } from '../support/leadsync.ts';
import { until } from '../support/until.ts';
import { sorted, type ThreeSinks, threeSinks } from './three-sinks.ts';

const LEADS = 400;

test('two workers beside a run that does not deliver bring every lead once, though one of them is killed', async () => {
  const scene = await threeSinks('bullmq', { stub: { leads: 100, leadsPerSecond: 100 } });
  const daemon = await startDaemon(scene.configFile, scene.adminUrl, { args: ['run', '--no-deliver'] });
  const workers = [startWorker(scene), startWorker(scene)];
  onTestFinished(() => {
    for (const { process } of [daemon, ...workers]) process.kill('SIGKILL');
  });
  await until('the workers are at work', () => scene.receiver.received.length > 50, 20_000);
  await workers[0]?.kill('SIGKILL');
  await until('enough leads are shown', () => scene.stub.shown >= LEADS, 20_000);
  scene.stub.arrive(0);
  await until('every lead is everywhere', () => scene.complete(), 60_000);
  for (const { kill } of [daemon, workers[1]].filter((process) => process !== undefined)) {
    expect(await kill('SIGTERM')).toEqual({ code: 0, signal: null });
  }
  const served = sorted(scene.served());
  const { webhook, csv, postgres } = await scene.arrivals();
  expect(sorted([...new Set(webhook)])).toEqual(served);
  expect(sorted(csv)).toEqual(served);
  expect(sorted(postgres)).toEqual(served);
  expect([...scene.webhookIds().values()].filter((ids) => ids.size > 1)).toEqual([]);
}, 120_000);

function startWorker(scene: ThreeSinks) {
  return startLeadsync(['worker', '-c', scene.configFile]);
}
