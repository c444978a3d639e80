import { expect, test } from 'vitest';
import type { AlertState, AlertStore } from '../../src/alerts/alert-store.ts';

const at = new Date('2026-11-20T10:00:00.000Z');

const state: AlertState = {
  entries: [
    {
      condition: 'sink_held',
      severity: 'critical',
      toldSeverity: 'warning',
      about: 'crm',
      sinceMs: at.getTime(),
      what: 'It is held.',
      toldMs: at.getTime(),
      toldCount: 1,
      wellSinceMs: undefined,
      overMs: undefined,
      times: 2,
    },
  ],
  waiting: {
    ops: [
      {
        kind: 'begun',
        condition: 'sink_held',
        severity: 'critical',
        about: 'crm',
        since: at,
        at,
        what: 'It is held.',
        next: 'Wait.',
      },
    ],
  },
};

/** What every store of the alert state promises. `open` opens it; a second call opens the same store again, as after a restart. */
export function alertStoreContract(store: () => (() => AlertStore) | Promise<() => AlertStore>): void {
  test('the state is empty at first, and what is written is there after a restart', async () => {
    const open = await store();
    const book = open();
    expect(await book.read()).toEqual({ entries: [], waiting: {} });
    await book.write(state);
    expect(await open().read()).toEqual(state);
  });

  test('of writes that overlap, the last one stays', async () => {
    const open = await store();
    const book = open();
    const empty = { entries: [], waiting: {} };
    await Promise.all([book.write(state), book.write(empty), book.write({ ...state, waiting: {} })]);
    expect(await open().read()).toEqual({ ...state, waiting: {} });
  });
}
