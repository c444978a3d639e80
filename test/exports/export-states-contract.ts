import { expect, test } from 'vitest';
import type { ExportState, ExportStates } from '../../src/exports/export-states.ts';
import { LockHeld } from '../../src/platform/files/file-lock.ts';

const at = new Date('2026-11-20T10:00:00.000Z');

const state: ExportState = {
  config: '{"every":"1h"}',
  since: at,
  done: {
    startedAt: at,
    finishedAt: at,
    exportedAt: at,
    place: '/out/nightly.csv',
    rows: 3,
    bytes: 99,
    config: '{}',
  },
  failed: { at, times: 2, message: 'It is full.', hint: 'Free some space.', retryAt: at },
};

/** What every store of export states promises. `open` opens it; a second call opens the same store again, as another process would. */
export function exportStatesContract(store: () => (() => ExportStates) | Promise<() => ExportStates>): void {
  test('a state that is written is there for every process, with all of its times', async () => {
    const open = await store();
    const states = open();
    expect(await states.read('nightly')).toBeUndefined();
    await states.write('nightly', state);
    expect(await open().read('nightly')).toEqual(state);
    await states.write('nightly', { config: 'other', since: at });
    expect(await open().read('nightly')).toEqual({ config: 'other', since: at });
  });

  test('names are those of the states, until they are forgotten', async () => {
    const open = await store();
    const states = open();
    expect(await states.names()).toEqual([]);
    for (const name of ['nightly', 'hourly']) await states.write(name, state);
    expect((await open().names()).toSorted()).toEqual(['hourly', 'nightly']);
    await states.forget('hourly');
    await states.forget('unknown');
    expect(await open().names()).toEqual(['nightly']);
    expect(await open().read('hourly')).toBeUndefined();
  });

  test('one process at a time holds the lock of an export, and all see that it runs', async () => {
    const open = await store();
    const [one, other] = [open(), open()];
    expect(await other.isRunning('nightly')).toBe(false);
    const lock = await one.lock('nightly');
    await expect(other.lock('nightly')).rejects.toBeInstanceOf(LockHeld);
    expect([await other.isRunning('nightly'), await other.isRunning('hourly')]).toEqual([true, false]);
    await (await other.lock('hourly')).release();
    await lock.release();
    expect(await other.isRunning('nightly')).toBe(false);
    await (await other.lock('nightly')).release();
  });

  test('one process at a time can claim an export, and none can lock it meanwhile', async () => {
    const open = await store();
    const [one, other] = [open(), open()];
    const claim = await one.claim('nightly');
    expect(claim?.isHeld()).toBe(true);
    expect(await other.claim('nightly')).toBeUndefined();
    await expect(other.lock('nightly')).rejects.toBeInstanceOf(LockHeld);
    expect(await other.isRunning('nightly')).toBe(true);
    await claim?.release();
    const next = await other.claim('nightly');
    expect(next).toBeDefined();
    await next?.release();
  });
}
