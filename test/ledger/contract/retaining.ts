import { describe, expect, it } from 'vitest';
import { retainOnce } from '../../../src/daemon/upkeep/retain.ts';
import type { Retention } from '../../../src/leads/retention.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  LedgerUnderTest,
  type OpenLedger,
  refused,
} from '../ledger-under-test.ts';

const DAY = 24 * HOUR;
const NEVER = new AbortController().signal;
const nothing = { type: 'retained', leads: 0, versions: 0, attempts: 0, rejected: 0 };
const ALL: Retention = { leads: DAY, versions: DAY, attempts: DAY, rejected_leads: DAY };

async function retained(on: LedgerUnderTest, retention = ALL) {
  const events: unknown[] = [];
  const emit = (event: object) => void events.push(event);
  // The time between two parts does not matter here.
  const clock = {
    ...on.clock,
    now: () => on.clock.now(),
    monotonicMs: () => 0,
    sleep: async () => undefined,
  };
  await retainOnce(retention, { ledger: on.ledger, clock, emit }, NEVER);
  return events;
}

async function rowsOf(on: LedgerUnderTest, lead: bigint) {
  const person = await on.ledger.findPerson({ kind: 'lead', lead });
  return on.ledger.personRecord(person);
}

/** Registers the tests of what the ledger promises about retention. */
export function retainingContract(store: () => OpenLedger): void {
  describe('data beyond its retention', () => {
    it('it is removed kind by kind, and counted', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1]);
      await on.attemptAll('crm', delivered);
      const set = { ...aListedLead({ id: 7 }), kind: 'rejected', reason: 'It is wrong.', path: '' } as const;
      await on.list([changedLead(1, 'New'), set]);
      await on.attemptAll('crm', delivered);
      await on.list([changedLead(1, 'New')]);
      expect(await retained(on)).toEqual([]);
      on.clock.jump(2 * DAY);
      await on.list([changedLead(1, 'New'), { ...set, hash: 'another' }]);
      expect(await retained(on)).toEqual([
        { type: 'retained', leads: 1, versions: 1, attempts: 1, rejected: 1 },
      ]);
      expect(await retained(on)).toEqual([]);
      const record = await rowsOf(on, 1n);
      expect(record['lead_versions']?.map(({ raw }) => raw)).toEqual(['{"id":1}', '{"id":1}']);
      expect(record['attempts']).toHaveLength(1);
      expect(record['deliveries']).toHaveLength(2);
    });

    it('pending and dead deliveries stay, with their content', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'dead');
      await on.list([1]);
      await on.attemptAll('dead', refused);
      on.clock.jump(2 * DAY);
      expect(await retained(on)).toEqual([{ ...nothing, attempts: 1 }]);
      const { batch } = await on.take('crm');
      expect(batch.deliveries[0]?.raw).toContain('client_name');
    });

    it('its removal makes no lead new again, and sends no lead without content', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1]);
      await on.attemptAll('crm', delivered);
      on.clock.jump(2 * DAY);
      await retained(on);
      expect((await on.list([1])).summary).toMatchObject({ new: 0, changed: 0 });
      expect(await on.ledger.replay('crm', { lead: 1n })).toBe(0);
      expect(await on.ledger.upcoming('crm', 1n)).toEqual([]);
      await on.declare(aSink('crm', { events: ['created', 'updated'] }), 'late');
      while (!(await on.ledger.backfill('late')).done);
      expect(await on.owed('late')).toEqual(['1 v1 skipped']);
      expect((await on.list([changedLead(1, 'New')])).summary).toMatchObject({ changed: 1 });
      expect(await on.owed('crm')).toEqual(['1 v1 delivered', '1 v2 pending']);
    });

    it('it is removed in small parts, each kind only if configured', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(Array.from({ length: 1_200 }, (_, at) => at + 1));
      await on.attemptAll('crm', delivered, { window: 1, max: 2_000 });
      on.clock.jump(2 * DAY);
      expect((await on.ledger.removeOld('leads', on.clock.now(), 0)).removed).toBe(500);
      expect(await retained(on, { leads: DAY })).toEqual([{ ...nothing, leads: 700 }]);
      expect(await retained(on, { attempts: DAY })).toEqual([{ ...nothing, attempts: 1_199 }]);
    });

    it("the last attempt keeps its number, but not the destination's answer", async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', refused);
      on.clock.jump(2 * DAY);
      expect(await retained(on, { attempts: DAY })).toEqual([{ ...nothing, attempts: 1 }]);
      expect((await rowsOf(on, 1n))['attempts']).toMatchObject([
        { outcome: 'refused', error: null, answer: null },
      ]);
      expect(await retained(on, { attempts: DAY })).toEqual([]);
    });

    it('an erased lead does not get its text back when the service lists it again', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const set = { ...aListedLead({ id: 7 }), kind: 'rejected', reason: 'It is wrong.', path: '' } as const;
      await on.list([set, 1]);
      await on.ledger.erase(await on.ledger.findPerson({ kind: 'lead', lead: 7n }), []);
      await on.list([{ ...set, hash: 'another', id: 8n }, 1]);
      on.clock.jump(2 * DAY);
      await retained(on, { rejected_leads: DAY });
      await on.list([set, 1]);
      expect((await rowsOf(on, 7n))['rejected_leads']).toMatchObject([{ raw: '' }]);
    });
  });
}
