import { expect, test } from 'vitest';
import type { AuditStore } from '../../src/audit/audit-store.ts';
import type { HeldClock } from '../support/time/held-clock.ts';

/** Opens a store; a second call opens the same store again, as another process would. */
export type OpenAudit = () => { readonly audit: AuditStore; readonly clock: HeldClock };

/** What every audit log promises. */
export function auditStoreContract(store: () => OpenAudit | Promise<OpenAudit>): void {
  test('a line that is written can be read by every process, with its time and details', async () => {
    const open = await store();
    await open().audit.write({
      who: 'anna',
      via: 'cli',
      address: '10.0.0.5',
      what: 'pause',
      sink: 'crm',
      n: 2,
    });
    const page = await open().audit.read({}, { limit: 5 });
    expect(page).toMatchObject({
      rows: [
        {
          at: '2026-11-20T10:00:00.000Z',
          who: 'anna',
          via: 'cli',
          what: 'pause',
          address: '10.0.0.5',
          details: { sink: 'crm', n: 2 },
        },
      ],
      next: null,
    });
  });

  test('pages go from the newest line to the oldest, while others write', async () => {
    const open = await store();
    const [one, other] = [open().audit, open().audit];
    for (let n = 0; n < 5; n += 1) await (n % 2 ? one : other).write({ what: 'pause', n });
    const first = await one.read({}, { limit: 2 });
    await other.write({ what: 'pause', n: 5 });
    const second = await one.read({}, { limit: 9, after: first?.next ?? '' });
    const shown = [first, second].map((page) => page?.rows.map(({ details }) => details['n']));
    expect(shown).toEqual([
      [4, 3],
      [2, 1, 0],
    ]);
    expect(second?.next).toBeNull();
    expect(await one.read({}, { limit: 1, after: 'no cursor' })).toBeUndefined();
  });

  test('a filter matches the person, the action and the time', async () => {
    const { audit, clock } = (await store())();
    for (const [who, what] of [
      ['anna', 'pause'],
      ['bob', 'pause'],
      ['anna', 'resume'],
    ] as const) {
      await audit.write({ who, what });
      clock.jump(60_000);
    }
    const found = async (filter: Parameters<AuditStore['read']>[0]) =>
      (await audit.read(filter, { limit: 9 }))?.rows.map(({ who, what }) => `${who} ${what}`);
    expect(await found({ who: 'anna', what: 'pause' })).toEqual(['anna pause']);
    const [since, until] = [new Date('2026-11-20T10:01:00.000Z'), new Date('2026-11-20T10:02:00.000Z')];
    expect(await found({ since })).toEqual(['anna resume', 'bob pause']);
    expect(await found({ until })).toEqual(['bob pause', 'anna pause']);
  });
}
