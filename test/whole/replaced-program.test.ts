import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { tempDir } from '../support/files/temp-dir.ts';
import { builtProgram } from '../support/program/built-program.ts';
import { aScene } from '../support/scene/a-scene.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';

/** Replaces a built program with another version, none of whose files has a name of the earlier one. */
function replace(program: string): void {
  const dist = join(dirname(program), '../dist');
  rmSync(dist, { recursive: true });
  mkdirSync(dist);
  writeFileSync(join(dist, 'build.json'), '{"commit":"beef","built":"2026-11-21T10:00:00Z"}');
  for (const name of ['main', 'reader-thread', 'export-process', 'inspect-process'])
    writeFileSync(join(dist, `${name}.js`), 'process.exit(9);');
}

function addToConfiguration(
  { configFile }: Pick<Scene, 'configFile'>,
  parts: Readonly<Record<string, object>>,
): void {
  const config = parse(readFileSync(configFile, 'utf8'));
  for (const [section, entries] of Object.entries(parts))
    config[section] = { ...config[section], ...entries };
  writeFileSync(configFile, stringify(config));
}

interface Status {
  readonly sinks: readonly { sink: string; delivered: number; pending: number; dead: number }[];
}

async function statusOf(scene: Scene, name: string): Promise<Status['sinks'][number] | undefined> {
  const status: Status = JSON.parse((await scene.run('status', '--json')).stdout);
  return status.sinks.find(({ sink }) => sink === name);
}

test('a daemon whose program was replaced reports so, delivers what it can, and leaves the rest to the next one', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  const program = await builtProgram(tempDir());
  const daemon = await scene.start({ program });
  await until('all are delivered', () => scene.complete());
  replace(program);
  await until('it has noticed', () => daemon.log.some(({ event }) => event === 'program-replaced'));
  const folder = tempDir();
  addToConfiguration(scene, {
    exports: { nightly: { type: 'directory', every: '1d', directory: join(folder, 'exports') } },
  });
  daemon.process.kill('SIGHUP');
  scene.stub.addLeads(2);
  await until('the sinks that it has open get the new leads', () => scene.complete());
  const REPLACED = /^While this leadsync was running, its program on disk was replaced or removed\./;
  const saysSo = (event: string) =>
    daemon.log.some((line) => line['event'] === event && REPLACED.test(String(line['reason'])));
  await until('the export is told to wait', () => saysSo('export-failed'));
  const lake = { type: 'parquet', directory: join(folder, 'lake'), batch: { wait: '100ms' } };
  addToConfiguration(scene, { sinks: { lake } });
  daemon.process.kill('SIGHUP');
  await until('a sink whose code it has not loaded is left to the next one', () => saysSo('reload-failed'));
  scene.stub.addLeads(1);
  await until('the earlier configuration stays in force', () => scene.complete());
  expect(daemon.stderr).not.toContain('ERR_MODULE_NOT_FOUND');
  expect(daemon.stderr).not.toContain('Please report');
  await daemon.kill();
  await scene.start();
  await until(
    'the next one delivers it',
    async () => (await statusOf(scene, 'lake'))?.delivered === 6,
    30_000,
  );
});
