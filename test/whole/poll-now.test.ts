import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aScene } from '../support/scene/a-scene.ts';
import { until } from '../support/time/until.ts';

test('a source is polled at the start, and again as soon as an operator asks for it', async () => {
  const scene = await aScene('in-process', {
    stub: { leads: 2 },
    source: { poll: { cron: '0 0 1 1 *', timezone: 'UTC' } },
  });
  expect(await scene.run('poll')).toMatchObject({
    code: 69,
    stderr: expect.stringContaining('No leadsync is running'),
  });
  await scene.start();
  await until('the first leads are delivered', () => scene.receiver.received.length === 2);
  scene.stub.addLeads(3);
  expect(await scene.run('poll', 'main')).toMatchObject({ code: 0, stdout: 'main: 5 listed, 3 new\n' });
  await until('the new leads are delivered', () => scene.receiver.received.length === 5);
  const json = await scene.run('poll', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject([
    { source: 'main', leads_listed: 5, leads_new: 0, error: null },
  ]);
  expect(await scene.run('poll', 'mian')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no source "mian": did you mean "main"?'),
  });
  const audit = readFileSync(join(scene.dataDir, 'audit.jsonl'), 'utf8').trim().split('\n');
  expect(audit.map((line) => JSON.parse(line))).toMatchObject([
    { who: userInfo().username, via: 'cli', what: 'poll', source: 'main' },
    { who: userInfo().username, via: 'cli', what: 'poll' }, // of every source
  ]);
});
