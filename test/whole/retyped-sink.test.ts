import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { aScene } from '../support/scene/a-scene.ts';
import { csvFiles } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';

const RETRY = { schedule: ['100ms'] };

test('a webhook sink that becomes a csv sink keeps its pending deliveries; only an erasure that it cannot carry out is dead', async () => {
  const scene = await aScene('in-process', { stub: { leads: 5 }, sinks: { crm: { retry: RETRY } } });
  const daemon = await scene.start();
  await until('all are delivered', () => scene.complete());
  await scene.run('pause', 'crm');
  await scene.run('erase', '3', '--yes');
  const added = scene.stub.addLeads(4);
  const pending = async () => {
    const { stdout } = await scene.run('deliveries', '--sink', 'crm', '--state', 'pending', '--json');
    return stdout.trim().split('\n').length;
  };
  await until('the word and the new leads wait', async () => (await pending()) >= 5);
  const config = parse(readFileSync(scene.configFile, 'utf8'));
  const directory = join(scene.dataDir, '..', 'crm');
  config.sinks.crm = { type: 'csv', directory, batch: { max: 100, wait: '0s' }, retry: RETRY };
  writeFileSync(scene.configFile, stringify(config));
  daemon.process.kill('SIGHUP');
  await until('it is reloaded', () => daemon.log.some(({ event }) => event === 'reloaded'));
  await scene.run('resume', 'crm');
  await until('the new leads are in the folder', () => csvFiles(directory).length > 0);
  const rows = csvFiles(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  for (const id of added) expect(rows.join('')).toMatch(new RegExp(`^${id},`, 'm'));
  const { stdout: dead } = await scene.run('deliveries', '--sink', 'crm', '--state', 'dead', '--json');
  expect(dead).toContain(':erased');
  expect(dead).toContain('A csv sink does not take `lead.erased`.');
  expect(dead).not.toContain('fault in leadsync');
});
