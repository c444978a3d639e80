import { spawnSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { releaseMemory } from '../../../src/daemon/upkeep/release-memory.ts';
import { processMemory } from '../../../src/platform/process/memory.ts';
import { HeldClock } from '../../support/time/held-clock.ts';

const MB = 1024 * 1024;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A process whose memory and load the test sets; it tells what was given back. */
function aProcess() {
  const state = { residentBytes: 100 * MB, load: 0, given: [] as string[] };
  const clock = new HeldClock();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const memory = {
    residentBytes: () => state.residentBytes,
    load: () => state.load,
    collect: async () => {
      state.given.push('this thread');
      state.residentBytes -= 60 * MB;
    },
  };
  const ledger = {
    releaseMemory: async () => {
      state.given.push('the ledger');
    },
  };
  void releaseMemory(ledger, memory, clock, stop.signal);
  return { state, clock };
}

test('what a burst of work took is given back once, and only when the process is idle', async () => {
  const { state, clock } = aProcess();
  Object.assign(state, { residentBytes: 300 * MB, load: 0.4 });
  await clock.pass(MINUTE);
  expect(state.given).toEqual([]);
  state.load = 0.01;
  await clock.pass(20 * SECOND);
  expect(state.given).toEqual(['this thread', 'the ledger']);
  await clock.pass(60 * MINUTE);
  expect(state.given).toHaveLength(2);
});

test('what every poll takes and frees stays with the process: a later burst is given back after ten minutes', async () => {
  const { state, clock } = aProcess();
  state.residentBytes = 300 * MB;
  await clock.pass(20 * SECOND);
  expect(state.given).toHaveLength(2);
  state.residentBytes = 300 * MB;
  await clock.pass(9 * MINUTE);
  expect(state.given).toHaveLength(2);
  await clock.pass(2 * MINUTE);
  expect(state.given).toHaveLength(4);
});

test('little is not worth it', async () => {
  const { state, clock } = aProcess();
  state.residentBytes = 140 * MB;
  await clock.pass(60 * MINUTE);
  expect(state.given).toEqual([]);
});

test('the memory of a process falls when its garbage is collected', async () => {
  const memory = processMemory();
  let garbage: unknown[] | undefined = Array.from({ length: 1_000_000 }, (_, at) => ({ at, text: `${at}` }));
  expect(garbage).toHaveLength(1_000_000);
  const before = memory.residentBytes();
  garbage = undefined;
  await memory.collect();
  expect(before - memory.residentBytes()).toBeGreaterThan(20 * MB);
  expect(memory.load()).toBeGreaterThan(0);
});

test('a thread that has collected its garbage can be ended, and so can the process', () => {
  const memory = JSON.stringify(new URL('../../../src/platform/process/memory.ts', import.meta.url));
  const collect = `await (await import(${memory})).collectGarbage();`;
  const thread = `${collect} (await import('node:worker_threads')).parentPort.postMessage('done'); setInterval(() => {}, 1000);`;
  const program = `
    const { Worker } = await import('node:worker_threads');
    const thread = new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(thread)}`)}));
    await new Promise((done) => thread.once('message', done));
    ${collect}
    await thread.terminate();
    console.log('ended');`;
  const args = ['--input-type=module', '-e', program];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: 600_000,
  });
  expect({ stdout, stderr, status }).toEqual({ stdout: 'ended\n', stderr: '', status: 0 });
});
