import { expect, test } from 'vitest';
import { aScene } from '../support/scene/a-scene.ts';

test('after a sync, PostgreSQL has every poll and delivery of the ledger', async () => {
  const scene = await aScene('in-process', { stub: { leads: 5 } });
  scene.receiver.answerAlways(422);
  await scene.run('sync');
  const states = await scene.query<{ sink: string; state: string; n: string }>(
    `SELECT sink, state, count(*) AS n FROM ${scene.schema}.deliveries GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  expect(states).toContainEqual({ sink: 'drop', state: 'delivered', n: '5' });
  expect(states).toContainEqual({ sink: 'warehouse', state: 'delivered', n: '5' });
  expect(states.filter(({ sink }) => sink === 'crm').map(({ state }) => state)).not.toContain('delivered');
  expect(await scene.query(`SELECT status, leads_new FROM ${scene.schema}.polls`)).toEqual([
    { status: 'success', leads_new: '5' },
  ]);
  const asked = await scene.run('query', '@pipe-alive');
  expect(asked.stdout).toMatch(/^source,main,alive,/m);
});
