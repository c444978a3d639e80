import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import { LedgerError } from '../../src/ledger/contract/ledger-error.ts';
import { SmallDisk } from '../support/files/small-disk.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { faultsOf } from './ledger-check.ts';
import { delivered, ids, LedgerUnderTest } from './ledger-under-test.ts';
import { SqliteFile, sqliteStore } from './sqlite-store.ts';

const complete = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;

describe('a ledger on a disk that becomes full', () => {
  // Where mounting a file system is not permitted, the file size limit replaces it: the same error from the same calls.
  it('every write reports it, nothing is lost, and the ledger continues by itself once there is space', async () => {
    const { on, fill, makeRoom, file } = await onSmallDisk();
    await on.list(ids(1, 200));
    const { refs } = await on.claim('crm', { max: 10, window: 5 });
    for (const ref of refs) await on.begin(ref);
    const poll = await on.ledger.startPoll('main');
    fill();
    const failures = await failuresWhile(on.ledger, poll);
    expect(failures.at(-1)).toMatchObject({
      code: 'full',
      isTransient: true,
      hint: expect.stringMatching(/space/),
    });
    const settled = await Promise.allSettled(refs.map((ref) => on.settle(ref, ...Array(10).fill(delivered))));
    for (const one of settled)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'full' });
    // Queries still work: this is when operators need them.
    expect((await on.ledger.status()).sources[0]?.source).toBe('main');
    makeRoom();
    await on.ledger.record(poll, large(1_000, 1_200));
    const summary = await on.ledger.finishPoll(poll, complete);
    expect(summary.listed).toBe(201);
    for (const [index, ref] of refs.entries())
      if (settled[index]?.status === 'rejected')
        expect((await on.settle(ref, ...Array(10).fill(delivered)))?.verdicts).toHaveLength(10);
    const [main] = (await on.ledger.status()).sources;
    expect(main?.listed).toBe(summary.listed);
    expect((await on.ledger.backlog())[0]?.pending).toBe(Number(main?.leads) - 50);
    await on.ledger.close();
    expect(faultsOf(file)).toEqual([]);
  });
});

/** Records into the poll until the disk is full. Returns the errors. */
async function failuresWhile(ledger: Ledger, poll: number): Promise<LedgerError[]> {
  for (let from = 1_000; from < 100_000; from += 1) {
    try {
      // The same leads again are not new: what was recorded before is not counted twice.
      await ledger.record(poll, large(from, from));
    } catch (error) {
      if (error instanceof LedgerError) return [error];
      throw error;
    }
  }
  throw new Error('the disk was never full');
}

function large(from: number, to: number) {
  return ids(from, to).map((id) => aListedLead({ id, note: 'x'.repeat(5_000) }));
}

async function onSmallDisk() {
  const folder = join(tempDir(), 'data');
  const disk = new SmallDisk(folder, 8);
  onTestFinished(() => disk.close());
  if (disk.own) {
    const file = join(folder, 'ledger.db');
    const on = await LedgerUnderTest.with(sqliteStore(file), 'crm');
    return { on, file, fill: () => disk.fill(), makeRoom: () => disk.free() };
  }
  const limited = new SqliteFile();
  const on = await LedgerUnderTest.with(limited.open, 'crm');
  return { on, file: limited.file, fill: () => limited.fill(), makeRoom: () => limited.makeRoom() };
}
