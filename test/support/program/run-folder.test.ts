import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SmallDisk } from '../files/small-disk.ts';
import { until } from '../time/until.ts';
import { noteProcess, openRunFolder, type RunFolder } from './run-folder.ts';

const linux = process.platform === 'linux';

/** Opens the folder of a test run and makes this test part of it. */
function aRun(): RunFolder {
  const folder = openRunFolder();
  for (const [name, value] of Object.entries(folder.env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

/** Starts a process in its own process group. */
function aProcess(): ChildProcess {
  const child = spawn('sleep', ['100'], { stdio: 'ignore', detached: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const notesIn = ({ path }: RunFolder) => readdirSync(join(path, 'processes'));

test('closing a run ends the processes still running, even frozen ones, and removes its folder', async () => {
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

test('a process that has ended is removed from the notes', async () => {
  const run = aRun();
  const child = aProcess();
  noteProcess(child);
  expect(notesIn(run)).toEqual([String(child.pid)]);
  child.kill();
  await until('the note is removed', () => notesIn(run).length === 0);
  await run.close();
});

// Only Linux's /proc says when a process started; elsewhere nothing distinguishes a later process with the same number.
test.runIf(linux)('closing a run spares a later process with the number of an ended one', async () => {
  const run = aRun();
  const child = aProcess();
  noteProcess(child);
  const file = join(run.path, 'processes', String(child.pid));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), startedAt: '1' }));
  await run.close();
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});

test('a process that starts after the run has ended is killed immediately', async () => {
  const run = aRun();
  await run.close();
  const child = aProcess();
  expect(() => noteProcess(child)).toThrow('ENOENT');
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
});

test('closing a run unmounts a small disk that is still mounted', async () => {
  const run = aRun();
  const disk = new SmallDisk(join(run.path, 'data'), 1);
  await run.close();
  expect(existsSync(run.path)).toBe(false);
  if (disk.own) expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(run.path);
});
