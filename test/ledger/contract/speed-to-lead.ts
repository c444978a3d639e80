import { describe, expect, it } from 'vitest';
import { aNewLead, HOUR, LedgerUnderTest, MINUTE, type OpenLedger, refused } from '../ledger-under-test.ts';

/** Registers the tests of which deliveries every ledger counts as speed to lead: in batches, among recent attempts and for alerts. */
export function speedToLeadContract(store: () => OpenLedger): void {
  describe('the speed to lead', () => {
    it('counts the first delivery of a lead that was created after its source was first listed', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm');
      on.clock.jump(MINUTE);
      await on.list([1, aNewLead(on, 2)]);
      expect(await measured(on, 'crm')).toEqual({ leads: [2n], times: [MINUTE] });
    });

    it('counts the first lead of a source whose first listing was empty', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([]);
      on.clock.jump(MINUTE);
      await on.list([aNewLead(on, 1)]);
      expect(await measured(on, 'crm')).toEqual({ leads: [1n], times: [MINUTE] });
    });

    it('counts a lead from when it was first listed, even if it changes before it is delivered', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([]);
      on.clock.jump(MINUTE);
      const lead = aNewLead(on, 1);
      const created_at = on.clock.now().toISOString();
      await on.list([lead]);
      await on.attemptAll('crm', refused);
      on.clock.jump(HOUR);
      await on.list([aNewLead(on, 1, { created_at, client_name: 'Otherwise' })]);
      expect(await measured(on, 'crm')).toEqual({ leads: [1n], times: [HOUR + MINUTE] });
    });

    it('leaves out the leads of a first import, and older leads that are listed later', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, aNewLead(on, 2, { created_at: on.clock.in(-1).toISOString() })]);
      on.clock.jump(MINUTE);
      await on.list([1, 2, aNewLead(on, 3, { created_at: on.clock.in(-HOUR).toISOString() })]);
      await on.list([1, 2, 3, aNewLead(on, 4, { created_at: 'last week' })]);
      expect(await measured(on, 'crm')).toEqual({ leads: [], times: [] });
    });

    it('leaves out the backfill of a sink that was added later', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([]);
      on.clock.jump(MINUTE);
      const lead = aNewLead(on, 1);
      await on.list([lead]);
      on.clock.jump(MINUTE);
      await on.declare('crm', 'drop');
      while (!(await on.ledger.backfill('drop')).done);
      expect(await measured(on, 'drop')).toEqual({ leads: [], times: [] });
      await on.list([lead, aNewLead(on, 2)]);
      expect(await measured(on, 'drop')).toEqual({ leads: [2n], times: [MINUTE] });
    });

    it('leaves out replays and changes', async () => {
      const on = await LedgerUnderTest.with(store(), {
        name: 'crm',
        events: ['created', 'updated'],
        backfill: true,
      });
      await on.list([]);
      on.clock.jump(MINUTE);
      const created_at = on.clock.now().toISOString();
      await on.list([aNewLead(on, 1)]);
      await on.attemptAll('crm');
      await on.ledger.replay('crm', { lead: 1n });
      expect((await measured(on, 'crm')).leads).toEqual([]);
      await on.list([aNewLead(on, 1, { created_at, client_name: 'Otherwise' })]);
      expect((await measured(on, 'crm')).leads).toEqual([]);
      expect(await times(on, 'crm')).toEqual([0]);
    });
  });
}

/** Delivers everything a minute later. Returns the leads that their batches mark as new, and the times that `times` finds. */
async function measured(on: LedgerUnderTest, sink: string) {
  on.clock.jump(MINUTE);
  const leads: bigint[] = [];
  for (const ref of (await on.claim(sink)).refs) {
    const { batch } = await on.begin(ref);
    leads.push(...batch.deliveries.filter(({ isNewLead }) => isNewLead).map(({ leadId }) => leadId));
    await on.settle(ref, ...batch.deliveries.map(() => ({ kind: 'delivered' }) as const));
  }
  return { leads, times: await times(on, sink) };
}

/** Returns the times that alerts measure for a sink, in ms. They must be those that `top` shows. */
async function times(on: LedgerUnderTest, sink: string): Promise<readonly number[] | undefined> {
  const attempts = await on.ledger.recentAttempts(100);
  const shown = attempts.filter((one) => one.sink === sink).flatMap(({ speedMs }) => speedMs ?? []);
  const { sinks } = await on.ledger.vitals(on.clock.in(-24 * HOUR));
  const alerted = sinks.find((one) => one.sink === sink)?.recentMs;
  expect(alerted?.toSorted()).toEqual(shown.toSorted());
  return alerted;
}
