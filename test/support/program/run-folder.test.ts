import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SmallDisk } from '../files/small-disk.ts';
import { until } from '../time/until.ts';
import { noteProcess, openRunFolder, type RunFolder } from './run-folder.ts';

const linux = process.platform === 'linux';

/** The folder of a run that this test belongs to. */
function aRun(): RunFolder {
  const folder = openRunFolder();
  for (const [name, value] of Object.entries(folder.env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

/** A process in a group of its own. */
function aProcess(): ChildProcess {
  const child = spawn('sleep', ['100'], { stdio: 'ignore', detached: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const notesIn = ({ path }: RunFolder) => readdirSync(join(path, 'processes'));

test('what was started and never ended is ended with the run, also what is frozen, and its folder goes', async () => {
  const run = aRun();
  const [one, frozen] = [aProcess(), aProcess()];
  noteProcess(one);
  noteProcess(frozen, 'SIGTERM');
  frozen.kill('SIGSTOP');
  const ended = Promise.all([once(one, 'exit'), once(frozen, 'exit')]);
  await run.close();
  expect(await ended).toEqual([
    [null, 'SIGKILL'],
    [null, 'SIGTERM'],
  ]);
  expect(existsSync(run.path)).toBe(false);
});

test('a process that has ended is noted no longer', async () => {
  const run = aRun();
  const child = aProcess();
  noteProcess(child);
  expect(notesIn(run)).toEqual([String(child.pid)]);
  child.kill();
  await until('it is forgotten', () => notesIn(run).length === 0);
  await run.close();
});

// Only Linux's /proc tells when a process began: elsewhere there is nothing that a later one could be known by.
test.runIf(linux)('a later process with the number of one that has ended is left alone', async () => {
  const run = aRun();
  const child = aProcess();
  noteProcess(child);
  const file = join(run.path, 'processes', String(child.pid));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), startedAt: '1' }));
  await run.close();
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});

test('a process that is started when the run is over is ended at once', async () => {
  const run = aRun();
  await run.close();
  const child = aProcess();
  expect(() => noteProcess(child)).toThrow('ENOENT');
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
});

test('a small disk that is still mounted goes with the run', async () => {
  const run = aRun();
  const disk = new SmallDisk(join(run.path, 'data'), 1);
  await run.close();
  expect(existsSync(run.path)).toBe(false);
  if (disk.own) expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(run.path);
});
