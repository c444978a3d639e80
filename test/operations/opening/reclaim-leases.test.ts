import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { processesOf } from '../../../src/operations/opening/processes.ts';
import { reclaimAtStart, reclaimLeases } from '../../../src/operations/opening/reclaim-leases.ts';
import { isLocked } from '../../../src/platform/files/file-lock.ts';
import { Bench } from '../../daemon/joints/bench.ts';
import { hanging } from '../../daemon/joints/fakes.ts';
import { tempDir } from '../../support/files/temp-dir.ts';

/** The name under which the bench attempts. */
const HOLDER = 'bench';

/** A data directory, and a ledger with one attempt under way. */
async function underWay() {
  const dataDir = tempDir();
  const folder = join(dataDir, 'processes');
  const bench = await Bench.open({ budgetMs: 600_000 });
  bench.sink.answer = hanging;
  await bench.list(1);
  expect(bench.sink.attempts).toHaveLength(1);
  return { processes: processesOf(dataDir), folder, sign: join(folder, `${HOLDER}.lock`), bench };
}

/** The same, of a process that shows that it lives: this one. */
async function ownUnderWay() {
  const own = await underWay();
  const life = await own.processes.join(HOLDER);
  onTestFinished(() => life.release());
  return own;
}

describe('the lease of an attempt of this process', () => {
  it('is not reclaimed if the lock file of the process is deleted, and the file is created again', async () => {
    const { processes, folder, sign, bench } = await ownUnderWay();
    for (const lost of [folder, sign]) {
      rmSync(lost, { recursive: true });
      expect(await reclaimLeases(bench.ledger, processes)).toBe(0);
      expect(isLocked(sign)).toBe(true);
    }
    bench.wake.notify();
    await bench.clock.pass(10_000);
    expect(bench.sink.attempts).toHaveLength(1);
  });

  it('is not reclaimed if another file replaces the lock file of the process', async () => {
    const { processes, sign, bench } = await ownUnderWay();
    const replace = () => {
      rmSync(sign);
      writeFileSync(sign, '');
    };
    replace();
    expect(await reclaimLeases(bench.ledger, processes)).toBe(0);
    expect(isLocked(sign)).toBe(true);
    const looking = vi.spyOn(bench.ledger, 'holders').mockImplementationOnce(async () => {
      replace();
      return [HOLDER];
    });
    onTestFinished(() => looking.mockRestore());
    expect(await reclaimLeases(bench.ledger, processes)).toBe(0);
  });
});

describe('the lease of an attempt of another process', () => {
  it('is not reclaimed if the lock file of the process is missing, because the process may be alive', async () => {
    const { processes, bench } = await underWay();
    expect(await reclaimLeases(bench.ledger, processes)).toBe(0);
  });

  it('is reclaimed once the lock file exists and no process holds it; then the file is removed', async () => {
    const { processes, folder, sign, bench } = await underWay();
    mkdirSync(folder);
    writeFileSync(sign, '');
    const ending = vi
      .spyOn(bench.ledger, 'reclaimLeases')
      .mockRejectedValueOnce(new Error('the disk is full'));
    onTestFinished(() => ending.mockRestore());
    await expect(reclaimLeases(bench.ledger, processes)).rejects.toThrow('the disk is full');
    expect(await reclaimLeases(bench.ledger, processes)).toBe(1);
    expect(existsSync(sign)).toBe(false);
  });
});

it('a start removes the lock files of processes that were killed while idle, and no other', async () => {
  const { processes, folder, bench } = await underWay();
  const life = await processes.join('alive');
  onTestFinished(() => life.release());
  const long = new Date(Date.now() - 3_600_000);
  for (const name of ['idle1', 'idle2', HOLDER, 'starting']) writeFileSync(join(folder, `${name}.lock`), '');
  for (const name of ['idle1', 'idle2', HOLDER, 'alive'])
    utimesSync(join(folder, `${name}.lock`), long, long);
  const ending = vi.spyOn(bench.ledger, 'reclaimLeases');
  await reclaimAtStart(bench.ledger, processes, new Date());
  expect(readdirSync(folder).toSorted()).toEqual(['alive.lock', 'starting.lock']);
  // The one that attempted something was freed first: its sign tells that it is dead.
  expect(ending).toHaveBeenCalledWith(HOLDER);
});

it('a released lock file is removed', async () => {
  const dataDir = tempDir();
  const life = await processesOf(dataDir).join(HOLDER);
  const sign = join(dataDir, 'processes', `${HOLDER}.lock`);
  expect(isLocked(sign)).toBe(true);
  life.release();
  expect(existsSync(sign)).toBe(false);
});
