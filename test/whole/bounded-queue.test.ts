import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { jobsIn } from '../faults/redis/queue.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { until } from '../support/time/until.ts';

const LEADS = 3_000;
const PART = 500;
const CONCURRENCY = 5;
/** Maximum queued batches of a sink with little concurrency. */
const WINDOW = 50;

test('of a backlog of thousands, Redis holds only the next batches, before and while it drains', async () => {
  const crm = { concurrency: CONCURRENCY };
  const scene = await aScene('bullmq', { stub: { leads: LEADS }, sinks: { crm } });
  const held: ServerResponse[] = [];
  scene.receiver.answerAlways((_, res) => void held.push(res));
  const daemon = await scene.start();
  const pending = async () => {
    const metrics = await (await fetch(`${daemon.adminUrl}/metrics`)).text();
    return Number(/^leadsync_backlog_pending\{.*sink="crm".*\} (\d+)$/m.exec(metrics)?.[1]);
  };
  await until('the whole backlog is owed', async () => (await pending()) === LEADS, 30_000);
  await until('the window is full', async () => (await jobsIn(scene, 'crm')).length >= WINDOW);
  expect(held).toHaveLength(CONCURRENCY);
  let most = 0;
  const look = async () => {
    most = Math.max(most, (await jobsIn(scene, 'crm')).length);
  };
  await look();
  scene.receiver.answerAlways(204);
  for (const res of held) res.writeHead(204).end();
  const partOfIt = async () => {
    await look();
    return scene.receiver.received.length >= PART;
  };
  await until('a part of it is drained', partOfIt, 60_000);
  // A job is removed just after its outcome has made room for the next.
  expect(most).toBeLessThanOrEqual(WINDOW + CONCURRENCY);
});
