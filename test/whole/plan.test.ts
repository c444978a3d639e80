import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { aScene } from '../support/scene/a-scene.ts';
import { SECRET } from '../support/scene/scene.ts';

test('a plan for the running leadsync has every changed option with both values, without secrets', async () => {
  const scene = await aScene('in-process', { sinks: { crm: { concurrency: 4 } } });
  expect((await scene.run('plan')).stdout).toContain('compared only while leadsync runs');
  await scene.start();
  expect((await scene.run('plan')).stdout).toBe(
    'No source, sink or export would change.\nNo option would change.\n',
  );
  const config = parse(readFileSync(scene.configFile, 'utf8'));
  config.sinks.crm.concurrency = 2;
  config.sinks.crm.secret = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
  config.alerts = { when: { no_poll: '30m' } };
  config.queue = { prefix: 'other' };
  writeFileSync(scene.configFile, stringify(config));
  const { stdout } = await scene.run('plan');
  expect(stdout).toContain('sink crm: concurrency, from its next attempt on');
  expect(stdout.split('Options that change:\n')[1]?.trimEnd().split('\n').toSorted()).toEqual([
    '  alerts.when.no_poll: 15m -> 30m',
    '  queue.prefix: leadsync -> other (needs a restart)',
    '  sinks.crm.concurrency: 4 -> 2',
    '  sinks.crm.secret: changed',
  ]);
  const { options } = JSON.parse((await scene.run('plan', '--json')).stdout);
  expect(options).toContainEqual({
    path: 'sinks.crm.concurrency',
    before: '4',
    after: '2',
    restart: false,
  });
  expect(stdout).not.toContain(SECRET);
  const dialog = await fetch(`${await adminUrl(scene)}/configuration/reload`, { method: 'POST' });
  const asked = await dialog.text();
  expect(asked).toContain('alerts.when.no_poll');
  expect(asked).toContain('at the next restart');
  expect(asked).toMatch(/sink crm: [^<]*concurrency[^<]*, from its next attempt on/);
});

async function adminUrl({ configFile }: { readonly configFile: string }): Promise<string> {
  return `http://${parse(readFileSync(configFile, 'utf8')).admin.listen}`;
}
