import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { aScene } from '../support/scene/a-scene.ts';
import type { Scene } from '../support/scene/scene.ts';

test('a command reaches the leadsync of its data directory, wherever that listens and whatever the file says now', async () => {
  const scene = await aScene('in-process');
  await scene.start();
  listenAt(scene, '127.0.0.1:9');
  expect(await scene.run('healthcheck')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('answers'),
  });
  expect((await scene.run('status')).stdout).not.toContain('does not answer');
  expect(await scene.run('reload')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('A restart is needed to apply admin.listen'),
  });
});

test('a command does not trust another leadsync at the same address', async () => {
  const [running, stopped] = [await aScene('in-process'), await aScene('in-process')];
  await running.start();
  const { listen } = parse(readFileSync(running.configFile, 'utf8')).admin;
  listenAt(stopped, listen);
  expect(await stopped.run('healthcheck')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('another leadsync answers there, which holds another data directory'),
  });
  expect(await stopped.run('reload')).toMatchObject({ code: 69, stdout: '' });
  expect(
    await stopped.run('support-bundle', '--output', join(dirname(stopped.configFile), 'bundle.tar.gz')),
  ).toMatchObject({
    stdout: expect.stringMatching(/metrics\.prom.*another leadsync answers there/),
  });
});

function listenAt(scene: Scene, listen: string): void {
  const config = parse(readFileSync(scene.configFile, 'utf8'));
  config.admin.listen = listen;
  writeFileSync(scene.configFile, stringify(config));
}
