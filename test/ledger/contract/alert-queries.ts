import { describe, expect, it } from 'vitest';
import { aNewLead, HOUR, LedgerUnderTest, MINUTE, type OpenLedger, refused } from '../ledger-under-test.ts';

const failed = { status: 'failed', httpStatus: 500, error: 'server: it failed' } as const;
const unchanged = { status: 'unchanged', bytes: 1, httpStatus: 304 } as const;

/** Registers the tests of what every ledger promises to monitoring. */
export function alertQueriesContract(store: () => OpenLedger): void {
  describe("the ledger's vital signs", () => {
    it('they show how long the new leads that were owed lately took', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([]);
      on.clock.jump(MINUTE);
      await on.list([aNewLead(on, 1), aNewLead(on, 2)]);
      on.clock.jump(MINUTE);
      await on.attemptAll('crm');
      const recent = async (ms: number) => (await on.ledger.vitals(on.clock.in(ms))).sinks[0]?.recentMs;
      expect(await recent(-HOUR)).toEqual([MINUTE, MINUTE]);
      on.clock.jump(5 * MINUTE);
      expect(await recent(-2 * MINUTE)).toEqual([]);
    });

    it('they show when the last lead was given up, and when each source was last read completely', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const listedAt = on.clock.now();
      expect((await on.ledger.vitals(on.clock.in(-HOUR))).sinks[0]).toMatchObject({
        dead: 0,
        lastDeadAt: undefined,
      });
      on.clock.jump(MINUTE);
      await on.attemptAll('crm', refused);
      await on.list([], 'main', failed);
      expect(await on.ledger.vitals(on.clock.in(-HOUR))).toMatchObject({
        sources: [
          {
            source: 'main',
            lastSuccessAt: listedAt,
            listed: expect.any(Number),
            listedLately: expect.any(Number),
            leads: expect.any(Number),
          },
        ],
        sinks: [{ sink: 'crm', dead: 1, lastDeadAt: on.clock.now() }],
      });
    });

    it('the status shows since when deliveries are dead, and when the last one died', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1, 2]);
      expect((await on.ledger.status()).sinks[0]).toMatchObject({
        deadSince: undefined,
        lastDeadAt: undefined,
      });
      const deadSince = on.clock.now();
      await on.attemptAll('crm', refused, { window: 1, max: 1 });
      on.clock.jump(MINUTE);
      await on.attemptAll('crm', refused);
      const [crm, drop] = (await on.ledger.status()).sinks;
      expect(crm).toMatchObject({ dead: 2, deadSince, lastDeadAt: on.clock.now() });
      expect(drop).toMatchObject({ dead: 0, deadSince: undefined, lastDeadAt: undefined });
    });

    it('they name the most frequent reason of the dead deliveries, as the status does', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const reason = async () => {
        const [{ deadReason } = {}] = (await on.ledger.vitals(on.clock.in(-HOUR))).sinks;
        expect((await on.ledger.status()).sinks[0]?.deadReason).toEqual(deadReason);
        return deadReason;
      };
      expect(await reason()).toBeUndefined();
      await on.list([1, 2]);
      await on.attemptAll('crm', refused);
      await on.list([1, 2, 3]);
      await on.attemptAll('crm', { ...refused, reason: 'It wants a phone number.' });
      expect(await reason()).toEqual({ reason: 'It says no.', deliveries: 2 });
    });
  });

  describe("the ledger's polls by hour", () => {
    it('they count new leads after the first complete listing, including hours without any', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      on.clock.jump(HOUR);
      await on.list([1, 2, 3, 4]);
      await on.list([1, 2, 3, 4, 5]);
      const newAt = on.clock.now();
      on.clock.jump(HOUR);
      await on.list([], 'main', unchanged);
      const until = on.clock.now();
      on.clock.jump(HOUR);
      const { poll } = await on.list([], 'main', failed);
      expect(await on.ledger.polledHours('main', on.clock.in(-24 * HOUR))).toEqual({
        hours: [
          { hour: new Date('2026-11-20T11:00:00.000Z'), leads: 2 },
          { hour: new Date('2026-11-20T12:00:00.000Z'), leads: 0 },
        ],
        lastNewAt: newAt,
        until,
        through: poll,
      });
    });

    it('they continue after a poll, and begin at a given time', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      for (let id = 2; id < 40; id += 1) {
        on.clock.jump(HOUR);
        await on.list([id], id % 2 === 0 ? 'main' : 'other');
      }
      const late = await on.ledger.polledHours('main', on.clock.in(-9.5 * HOUR));
      expect(late.hours).toHaveLength(5);
      expect(late.hours[0]?.hour.getTime()).toBeGreaterThan(on.clock.in(-10.5 * HOUR).getTime());
      const none = await on.ledger.polledHours('main', late.through ?? 0);
      expect(none).toEqual({ hours: [], lastNewAt: undefined, until: undefined, through: undefined });
      on.clock.jump(HOUR);
      await on.list([100]);
      expect((await on.ledger.polledHours('main', late.through ?? 0)).hours).toHaveLength(1);
    });

    it('they leave a running poll for later, and omit a source that was never read completely', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.ledger.startPoll('main');
      expect((await on.ledger.polledHours('main', on.clock.in(-HOUR))).through).toBeUndefined();
      await on.list([1]);
      const { poll } = await on.list([1, 2]);
      await on.ledger.startPoll('main');
      expect((await on.ledger.polledHours('main', on.clock.in(-HOUR))).through).toBe(poll);
    });
  });
}
