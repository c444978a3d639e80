import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../../src/config/load-config.ts';
import { Daemon } from '../../../src/daemon/daemon.ts';
import { Reloader } from '../../../src/daemon/units/reloader.ts';
import { readWithStamp, stampOf, watchConfig } from '../../../src/daemon/watching/watch-config.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { SECOND } from '../joints/bench.ts';
import { Reported } from '../joints/fakes.ts';

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
  const write = (level: string, to = file, more = {}) =>
    writeFileSync(to, stringify({ watch: true, sources: { main: { ...source, ...more } }, log: { level } }));
  write('info');
  return { folder, file, write, load: () => loadConfig(file, { sinkTypes, env: {} }) };
}

/** Watches a file on a held clock, beside other requests for a reload. */
function watching({ load }: ReturnType<typeof aFile>) {
  const clock = new HeldClock();
  const reported = new Reported();
  let config = load();
  const apply = async (next: ReturnType<typeof load>) => {
    config = next;
    return { changes: [next.log.level], restart: [] };
  };
  const reloading = new Reloader(
    { apply, changedOptions: () => [], planned: async () => [] },
    { load, stamp: stampOf },
    {
      clock,
      emit: reported.emit,
      config,
      loadedStamp: stampOf(config),
      ready: Promise.resolve(),
      audit: { hint: '', write: async () => undefined },
    },
  );
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void watchConfig(
    () => stampOf(reloading.files),
    () => reloading.loadedStamp,
    () => reloading.reload('watch'),
    clock,
    stop.signal,
  );
  const secret = () => config.sources[0]?.options.client_secret.reveal();
  return { clock, reloading, reported, secret, level: () => config.log.level };
}

test('a file that is put back immediately after a reload has applied another, or failed on it, is applied', async () => {
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

test('the values that leadsync shows are those of the configuration in force, even if the file changed while it was read', async () => {
  const configured = aFile();
  const { reloading, level } = watching({
    ...configured,
    load: () => {
      const config = configured.load();
      configured.write('debug');
      return config;
    },
  });
  const shown = () => reloading.state.values.find(({ path }) => path === 'log.level')?.value;
  expect([level(), shown()]).toEqual(['info', 'info']);
  configured.write('warn');
  await reloading.reload('request');
  expect([level(), shown()]).toEqual(['warn', 'warn']);
});

test('a file that a requested reload has applied is not reloaded again', async () => {
  const configured = aFile();
  const { clock, reloading, level } = watching(configured);
  configured.write('debug');
  await reloading.reload('request');
  await clock.pass(3 * SECOND);
  expect([level(), reloading.state.generation]).toEqual(['debug', 2]);
});

test('the content of a secret’s file is applied, even if the file is newer than the configuration that names it', async () => {
  const configured = aFile();
  const { folder, file, write } = configured;
  const { clock, reported, secret } = watching(configured);
  const token = join(folder, 'client_secret');
  write('info', file, { client_secret: { file: 'client_secret' } });
  await clock.pass(3 * SECOND);
  expect([secret(), reported.of('reload-failed').length]).toEqual(['b', 1]);
  for (const value of ['c', 'd']) {
    writeFileSync(token, value);
    await clock.pass(3 * SECOND);
    expect(secret()).toBe(value);
  }
  write('debug', file);
  await clock.pass(3 * SECOND);
  writeFileSync(token, 'e');
  await clock.pass(3 * SECOND);
  expect(secret()).toBe('b');
  expect([reported.of('reloaded').length, reported.of('reload-failed').length]).toEqual([3, 1]);
});

/** A daemon that has been started on a file, with what is done `meanwhile`. */
async function started({ folder, load }: ReturnType<typeof aFile>, meanwhile: () => void): Promise<Daemon> {
  const starting = Daemon.start({
    config: { ...load(), dataDir: join(folder, 'data') },
    load,
    role: { kind: 'run', deliver: true },
    admin: undefined,
    log: { write: () => {} },
  });
  meanwhile();
  const daemon = await starting;
  onTestFinished(async () => void (await daemon.stop('the test', 1_000)));
  return daemon;
}

test('a change that is saved while leadsync starts is applied', async () => {
  const configured = aFile();
  const daemon = await started(configured, () => configured.write('debug'));
  await until('it is taken over', () => daemon.config.log.level === 'debug');
});

test('so is a change of a file with a secret', async () => {
  const configured = aFile();
  const { folder, file, write } = configured;
  const token = join(folder, 'client_secret');
  writeFileSync(token, 'c');
  write('info', file, { client_secret: { file: 'client_secret' } });
  const daemon = await started(configured, () => writeFileSync(token, 'rotated'));
  await until(
    'it is taken over',
    () => daemon.config.sources[0]?.options.client_secret.reveal() === 'rotated',
  );
});

test('a change during the first reading is detected, of the configuration and of a secret', async () => {
  const { file, write, load, folder } = aFile();
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'one');
  write('info', file, { client_secret: { file: secret } });
  for (const change of [
    () => write('debug', file, { client_secret: { file: secret } }),
    () => writeFileSync(secret, 'two, changed'),
  ]) {
    let reads = 0;
    const { config, loadedStamp } = readWithStamp(file, () => {
      reads += 1;
      const read = load();
      // The second reading is the one that counts, because the first shows which file holds a secret.
      if (reads === 2) change();
      return read;
    });
    expect(reads).toBe(2);
    expect(stampOf(config)).not.toBe(loadedStamp);
  }
  const { config, loadedStamp } = readWithStamp(file, load);
  expect(stampOf(config)).toBe(loadedStamp);
});
