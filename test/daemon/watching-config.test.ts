import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { Reloading } from '../../src/daemon/reloading.ts';
import { stampOf, watchConfig } from '../../src/daemon/watch-config.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { HeldClock } from '../support/held-clock.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { SECOND } from './bench.ts';
import { Reported } from './fakes.ts';

/** A configuration, ready to be changed. Gives its file, and what writes the file with another level of the log. */
function aFile() {
  const folder = tempDir();
  const file = join(folder, 'leadsync.yaml');
  const source = {
    base_url: 'http://127.0.0.1:9',
    client_id: 'a',
    client_secret: 'b',
    poll: { every: '1h' },
  };
  const write = (level: string, to = file) =>
    writeFileSync(to, stringify({ watch: true, sources: { main: source }, log: { level } }));
  write('info');
  return { folder, file, write, load: () => loadConfig(file, { sinkTypes, env: {} }) };
}

/** Watches a file on a held clock, beside whoever else asks for reloads. */
function watching({ file, load }: ReturnType<typeof aFile>) {
  const clock = new HeldClock();
  const { emit } = new Reported();
  let level = load().log.level;
  const apply = async (config: ReturnType<typeof load>) => {
    level = config.log.level;
    return { changes: [level], restart: [] };
  };
  const stamp = () => stampOf(file);
  const reloading = new Reloading(
    { apply },
    { load, describe: () => [], stamp },
    { clock, emit, readAs: stamp(), ready: Promise.resolve() },
  );
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void watchConfig(
    file,
    () => reloading.readAs,
    () => reloading.reload('watch'),
    clock,
    stop.signal,
  );
  return { clock, reloading, level: () => level };
}

test('what is put back right after a reload took it over, or failed on it, is taken over as well', async () => {
  const configured = aFile();
  const { folder, file, write } = configured;
  /** As a mounted ConfigMap does it: what the name leads to is the very file that was there before. */
  const lead = (name: string) => {
    symlinkSync(name, join(folder, 'next'));
    renameSync(join(folder, 'next'), file);
  };
  for (const name of ['info', 'debug', 'loud']) write(name, join(folder, name));
  lead('info');
  const { clock, reloading, level } = watching(configured);
  for (const other of ['debug', 'loud']) {
    lead(other);
    await reloading.reload('SIGHUP');
    lead('info'); // between two looks
    await clock.pass(3 * SECOND);
    expect([level(), reloading.state.stale]).toEqual(['info', undefined]);
  }
});

test('what a reload has taken over by request is not reloaded once more', async () => {
  const configured = aFile();
  const { clock, reloading, level } = watching(configured);
  configured.write('debug');
  await reloading.reload('request');
  await clock.pass(3 * SECOND);
  expect([level(), reloading.state.generation]).toEqual(['debug', 2]);
});

test('a change is taken over that is saved while leadsync starts', async () => {
  const { folder, write, load } = aFile();
  const lines: string[] = [];
  const starting = Daemon.start({
    config: { ...load(), dataDir: join(folder, 'data') },
    load,
    role: { kind: 'run', deliver: true },
    admin: undefined,
    log: { write: (line) => void lines.push(line) },
  });
  write('debug');
  const daemon = await starting;
  onTestFinished(async () => void (await daemon.stop('the test', 1_000)));
  await until('it is taken over', () => daemon.config.log.level === 'debug');
});
