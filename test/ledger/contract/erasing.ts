import { describe, expect, it } from 'vitest';
import type { BatchRef } from '../../../src/leads/delivery.ts';
import type { Subject } from '../../../src/leads/person.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  refused,
  unavailable,
} from '../ledger-under-test.ts';

const ONE: Subject = { kind: 'lead', lead: 1n };

async function eraseOne(on: LedgerUnderTest, subject = ONE, tell: readonly string[] = []) {
  return on.ledger.erase(await on.ledger.findPerson(subject), tell);
}

/** Registers the tests of what the ledger promises to persons who ask to be erased. */
export function erasingContract(store: () => OpenLedger): void {
  describe('erasing', () => {
    it('a content that was erased while it was rejected is kept out once it is valid, and polls go on', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      const [erased, newer] = [changedLead(2, 'Y'), changedLead(2, 'Z')];
      await on.list([1, { ...erased, kind: 'rejected', reason: 'It is wrong.', path: '' }]);
      await on.ledger.erase({ leads: [], rejected: [{ source: 'main', hash: erased.hash }] }, []);
      expect((await on.list([1, erased])).summary).toMatchObject({ changed: 0, rejected: 1 });
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending']);
      await on.list([1, newer, erased]);
      expect((await on.list([1, erased])).summary).toMatchObject({ status: 'success', changed: 0 });
      // Not even after a listing without it, which resolves its rejection.
      await on.list([1, newer]);
      expect((await on.list([1, erased])).summary).toMatchObject({ status: 'success', changed: 0 });
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v2 pending']);
    });

    it('a repeated id whose content was erased does not make polls fail', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const erased = aListedLead({ id: 2, client_email: 'y@example.com' });
      await on.list([1, 2, erased]);
      const person = await on.ledger.findPerson({ kind: 'email', contact: 'y@example.com' });
      expect(person.rejected).toHaveLength(1);
      await on.ledger.erase(person, []);
      expect((await on.list([1, erased])).summary).toMatchObject({ status: 'success', changed: 0 });
      expect((await on.list([1, changedLead(2, 'B')])).summary).toMatchObject({ changed: 1 });
    });

    it('a person is found by any content that a lead ever had, however it is spelled', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([
        aListedLead({ id: 1, client_email: 'Ada@Example.com ', client_phone_number: '0044 20 7946-0018' }),
        aListedLead({ id: 2, client_email: 'b@example.com', client_phone_number: '1' }),
      ]);
      await on.list([aListedLead({ id: 1, client_email: 'new@example.com', client_phone_number: '2' })]);
      const main1 = { leads: [{ source: 'main', leadId: 1n }], rejected: [] };
      expect(await on.ledger.findPerson({ kind: 'email', contact: 'ada@example.COM' })).toEqual(main1);
      expect(await on.ledger.findPerson({ kind: 'phone', contact: '+442079460018' })).toEqual(main1);
      expect(await on.ledger.findPerson({ kind: 'email', contact: 'new@example.com' })).toEqual(main1);
      expect(await on.ledger.findPerson({ kind: 'email', contact: 'ada@example.com' }, 'other')).toEqual({
        leads: [],
        rejected: [],
      });
    });

    it('rejected leads are found and emptied', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const lead = aListedLead({ id: 7, client_email: 'ada@example.com' });
      await on.list([{ ...lead, kind: 'rejected', reason: 'It is wrong.', path: 'created_at' }]);
      const ada: Subject = { kind: 'email', contact: 'ada@example.com' };
      expect((await on.ledger.findPerson(ada)).rejected).toHaveLength(1);
      expect(await eraseOne(on, ada)).toMatchObject({ rejected: 1 });
      await on.list([{ ...lead, kind: 'rejected', reason: 'It is wrong.', path: 'created_at' }]);
      expect((await on.ledger.findPerson(ada)).rejected).toEqual([]);
    });

    it.each([
      ['as a JSON number', '{"id":7,"client_phone_number":442079460018}'],
      ['with spaces, in a field with another name', '{"id":7,"phone":"0044 (0)20 7946-0018"}'],
      ['nested', '{"id":7,"client_phone_number":{"mobile":["+44.20.7946.0018"]}}'],
      ['within other text', '"call +44 20 7946 0018, please"'],
      ['with a (0) that is not dialled', '{"id":7,"client_phone_number":"+44 (0)20 7946 0018"}'],
      ['an e-mail address with escapes', '{"id":7,"client":{"email":"Ren\\u00e9\\u0040example.com"}}'],
      ['in a text that was cut off', '{"id":7,"client_email":"ren\\u00e9@example.com","client_ph'],
    ])('a person in a rejected lead is found however the contact is written: %s', async (_, raw) => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const wrong = { kind: 'rejected', reason: 'It is wrong.', path: '' } as const;
      await on.list([{ ...aListedLead({ id: 7 }), raw, ...wrong }]);
      const subjects: readonly Subject[] = [
        { kind: 'phone', contact: '+442079460018' },
        { kind: 'phone', contact: '00 44 20 7946 0018' },
        { kind: 'email', contact: 'RENÉ@example.com' },
        { kind: 'phone', contact: '+442079460019' },
        { kind: 'email', contact: 'ada@example.com' },
      ];
      const found = await Promise.all(subjects.map((subject) => on.ledger.findPerson(subject)));
      const byPhone = !raw.includes('example');
      expect(found.map(({ rejected }) => rejected.length > 0)).toEqual([
        byPhone,
        byPhone,
        !byPhone,
        false,
        false,
      ]);
    });

    it('an id that looks like a phone number is not a phone number', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const raw = '{"id":442079460018}';
      const wrong = { kind: 'rejected', reason: 'It is wrong.', path: '' } as const;
      await on.list([{ ...aListedLead({ id: 442079460018 }), raw, ...wrong }]);
      expect(await on.ledger.findPerson({ kind: 'phone', contact: '+442079460018' })).toEqual({
        leads: [],
        rejected: [],
      });
    });

    it('a lead that was only ever rejected stays erased even when it becomes correct', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const wrong = { kind: 'rejected', reason: 'It is wrong.', path: 'created_at' } as const;
      const lead = aListedLead({ id: 2n ** 63n - 1n, client_email: 'ada@example.com' });
      await on.list([{ ...lead, ...wrong }, 1]);
      const person = await on.ledger.findPerson({ kind: 'email', contact: 'ada@example.com' });
      expect(person).toMatchObject({
        leads: [{ source: 'main', leadId: lead.id }],
        rejected: [{ source: 'main', hash: expect.any(String) }],
      });
      await on.ledger.erase(person, ['crm']);
      await on.list([
        { ...aListedLead({ id: lead.id, client_email: 'ada@example.com', extra: 1 }), ...wrong },
        1,
      ]);
      expect((await on.list([lead, 1])).summary).toMatchObject({ new: 0, changed: 0, listed: 2 });
      expect((await on.list([lead, 1])).summary).toMatchObject({ new: 0, changed: 0, listed: 2 });
      expect(await on.owed('crm')).toEqual(['1 v1 pending']);
      const { sources } = await on.ledger.status();
      expect(sources).toMatchObject([{ leads: 2, listed: 2 }]);
      expect(await on.ledger.findPerson({ kind: 'email', contact: 'ada@example.com' })).toEqual({
        leads: [],
        rejected: [],
      });
    });

    it('pending deliveries of the lead are skipped, and no poll, replay, retry or backfill owes it again', async () => {
      const on = await LedgerUnderTest.with(
        store(),
        aSink('crm', { events: ['created', 'updated'] }),
        'dead',
      );
      await on.list([1, 2]);
      await on.attemptAll('dead', refused);
      expect(await eraseOne(on)).toMatchObject({ versions: 1, skipped: 2, underWay: 0 });
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '2 v1 pending']);
      await on.list([1, 2]);
      await on.list([changedLead(1, 'Another'), 2]);
      await on.list([{ ...changedLead(1, 'Third'), kind: 'rejected', reason: 'It is wrong.', path: '' }, 2]);
      expect(await on.ledger.replay('crm', { lead: 1n })).toBe(0);
      expect(await on.ledger.replay('crm', { source: 'main' })).toBe(1);
      expect(await on.ledger.retry({ sink: 'dead', lead: 1n })).toBe(0);
      await on.declare('crm', 'dead', 'late');
      while (!(await on.ledger.backfill('late')).done);
      expect(await on.owed('late')).toEqual(['2 v1 pending']);
      expect(await on.ledger.upcoming('crm', 1n)).toEqual([]);
      expect(await on.ledger.findPerson({ kind: 'email', contact: 'ada@example.com' })).not.toContain(1n);
      expect(await eraseOne(on)).toMatchObject({ versions: 0, rejected: 0, skipped: 0 });
      const { sinks } = await on.ledger.status();
      expect(sinks.find(({ sink }) => sink === 'dead')).toMatchObject({ dead: 1, skipped: 1 });
    });

    it('an erased lead that is listed with another content counts as known from then on', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      await eraseOne(on);
      const again = await on.list([changedLead(1, 'Another'), 2]);
      expect(again.summary).toMatchObject({ new: 0, changed: 0, rejected: 0, listed: 2 });
      expect((await on.list([changedLead(1, 'Another'), 2])).summary).toMatchObject({ new: 0, changed: 0 });
    });

    it('a poll of another process that runs during the erasure does not bring the lead back', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      const poll = await on.ledger.startPoll('main');
      const other = on.again();
      await eraseOne(other);
      await on.ledger.record(poll, [changedLead(1, 'Another')]);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '2 v1 pending']);
    });

    it("a running attempt may end; the lead's content is removed afterwards", async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { ref, batch } = await on.take('crm');
      expect(batch.deliveries[0]?.raw).toContain('client_name');
      expect(await eraseOne(on)).toMatchObject({ underWay: 1, skipped: 0 });
      await on.settle(ref, { ...unavailable, answer: 'Dear Ada' });
      expect(await eraseOne(on)).toMatchObject({ underWay: 0, skipped: 1, attempts: 1 });
      expect(await on.claim('crm')).toMatchObject({ refs: [] });
      expect((await on.ledger.trace(1n)).flatMap(({ answer }) => answer ?? [])).toEqual([]);
    });

    it.each([
      ['ended', async (on: LedgerUnderTest, ref: BatchRef) => on.settle(ref, unavailable, unavailable)],
      ['was lost', async () => undefined],
    ])(
      'a delivery that was being attempted is not attempted again without its content when that attempt %s',
      async (_, end) => {
        const on = await LedgerUnderTest.with(store(), 'crm');
        await on.list([1, 2]);
        const { ref } = await on.take('crm', { max: 2 });
        expect(await eraseOne(on)).toMatchObject({ underWay: 1, skipped: 0 });
        await end(on, ref);
        on.clock.jump(HOUR);
        const { batch } = await on.take('crm', { max: 2 });
        expect(batch.deliveries.map(({ leadId }) => leadId)).toEqual([2n]);
        expect(await on.owed('crm')).toEqual(['1 v1 skipped', '2 v1 pending']);
        expect((await on.ledger.status()).sinks).toMatchObject([{ pending: 1, skipped: 1 }]);
      },
    );

    it('a batch without remaining deliveries ends', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { ref } = await on.take('crm');
      await eraseOne(on);
      await on.settle(ref, unavailable);
      on.clock.jump(HOUR);
      const { refs } = await on.claim('crm');
      for (const again of refs) expect(await on.ledger.begin(again, MINUTE)).toBeUndefined();
      expect(await on.owed('crm')).toEqual(['1 v1 skipped']);
      expect(await on.ledger.workOf('crm')).toEqual({ inFlight: 0, due: false });
    });

    it('the report names where a sink delivered the leads before it was configured for another destination', async () => {
      const on = await LedgerUnderTest.with(store());
      const brings = async (place: string) => {
        on.clock.jump(MINUTE);
        await on.declare(aSink('crm', { place }));
        on.clock.jump(MINUTE);
      };
      const leads = [
        { source: 'main', leadId: 1n },
        { source: 'main', leadId: 2n },
      ];
      const former = async () =>
        (await on.ledger.formerDestinations(leads)).map(({ place, had }) => `${place}: ${had}`);
      await brings('webhook');
      await on.list([1]);
      await on.attemptAll('crm');
      await brings('webhook');
      expect(await former()).toEqual([]);
      await brings('csv /drop');
      await on.list([1, 2]);
      await on.attemptAll('crm');
      expect(await former()).toEqual(['webhook: 1']);
      await brings('postgres leadsync');
      expect(await former()).toEqual(['webhook: 1', 'csv /drop: 1']);
      await brings('csv /drop');
      expect(await former()).toEqual(['webhook: 1']);
    });

    it('the report names a destination that an attempt reached before it was left, but was settled after that', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { place: 'webhook' }));
      on.clock.jump(MINUTE);
      await on.list([1]);
      const { ref } = await on.take('crm', { leaseMs: HOUR });
      const [startedAt, durationMs] = [on.clock.now(), 12];
      on.clock.jump(5_000);
      await on.declare(aSink('crm', { place: 'csv /drop' }));
      on.clock.jump(5_000);
      await on.ledger.settle(ref, { outcomes: [delivered], startedAt, durationMs });
      const [former] = await on.ledger.formerDestinations([{ source: 'main', leadId: 1n }]);
      expect(former?.place).toBe('webhook');
    });

    it('the report omits a former destination that accepted the erasure', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { place: 'webhook' }));
      await on.list([1]);
      await on.attemptAll('crm');
      await eraseOne(on, ONE, ['crm']);
      await on.attemptAll('crm');
      on.clock.jump(MINUTE);
      await on.declare(aSink('crm', { place: 'csv /drop' }));
      expect(await on.ledger.formerDestinations([{ source: 'main', leadId: 1n }])).toEqual([]);
    });

    it('the lead is removed from a waiting batch, and the others stay in it', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { refs } = await on.claim('crm', { max: 2 });
      await eraseOne(on);
      const ref = refs[0];
      if (!ref) throw new Error('there is no batch');
      const { batch } = await on.begin(ref);
      expect(batch.deliveries.map(({ leadId }) => leadId)).toEqual([2n]);
      await on.settle(ref, delivered);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '2 v1 delivered']);
    });

    it('an attempt that counted as lost and ends after all gets no result', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { max: 2 });
      on.clock.jump(2 * MINUTE);
      expect(await eraseOne(on)).toMatchObject({ underWay: 0, skipped: 1 });
      expect(await on.settle(ref, delivered, delivered)).toBeUndefined();
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '2 v1 pending']);
    });

    it('the erasure is owed to sinks that got the lead or may have, once, without content, after any running attempt', async () => {
      const on = await LedgerUnderTest.with(store(), 'got', 'refuses', 'trying', 'never', 'untold');
      await on.list([1, 2]);
      await on.attemptAll('got');
      await on.attemptAll('refuses', refused);
      await on.attemptAll('untold');
      const [{ ref }] = [await on.take('trying', { max: 2 })];
      const tell = ['got', 'refuses', 'trying', 'never'];
      await eraseOne(on, ONE, tell);
      expect(await on.owed('got')).toEqual(['1 v1 delivered', '2 v1 delivered', '1 v1 pending']);
      expect(await on.owed('refuses')).toEqual(['1 v1 skipped', '2 v1 dead', '1 v1 pending']);
      expect(await on.owed('never')).toEqual(['1 v1 skipped', '2 v1 pending']);
      expect(await on.owed('untold')).toEqual(['1 v1 delivered', '2 v1 delivered']);
      expect(await on.claim('trying')).toMatchObject({ refs: [] });
      await on.settle(ref, unavailable, unavailable);
      await eraseOne(on, ONE, tell);
      expect(await on.owed('trying')).toEqual(['1 v1 skipped', '2 v1 pending', '1 v1 pending']);
      const { batch } = await on.take('got');
      expect(batch.deliveries).toMatchObject([
        { leadId: 1n, event: 'erased', replay: false, raw: '{"id":1}', changedAt: on.clock.now() },
      ]);
      expect(batch.deliveries[0]?.id).toMatch(/^got:main:1:1:[0-9a-f]{8}:erased$/);
    });

    it('an attempt that was interrupted and released counts as one that may have delivered the lead', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { ref } = await on.take('crm');
      await on.ledger.release(ref, true);
      await eraseOne(on, ONE, ['crm']);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '1 v1 pending']);
    });

    it('the report shows which sinks were notified; neither a repeated erasure nor a restart notifies them twice', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'slow', 'no');
      await on.list([1, 2]);
      for (const sink of ['crm', 'slow', 'no']) await on.attemptAll(sink);
      const person = { leads: [1n, 2n].map((leadId) => ({ source: 'main', leadId })), rejected: [] };
      const tell = ['crm', 'slow', 'no'];
      await on.ledger.erase(person, tell);
      await on.attemptAll('crm');
      await on.attemptAll('no', refused);
      const other = on.again();
      await other.ledger.erase(person, tell);
      expect(await other.ledger.sinkErasures(person.leads)).toEqual([
        { sink: 'crm', had: 2, certain: 2, told: 2, owed: 0, refused: 0, paused: false },
        { sink: 'slow', had: 2, certain: 2, told: 0, owed: 2, refused: 0, paused: false },
        { sink: 'no', had: 2, certain: 2, told: 0, owed: 0, refused: 2, paused: false },
      ]);
      expect(await other.claim('crm')).toMatchObject({ refs: [] });
      expect(await other.ledger.retry({ sink: 'no' })).toBe(2);
      expect(await other.attemptAll('no')).toEqual([[1n], [2n]]);
      const [row] = await other.ledger.deliveries({ sink: 'crm' }, { limit: 1 });
      expect(await other.ledger.deliveries({ delivery: row?.delivery }, { limit: 9 })).toEqual([row]);
    });

    it('an attempt with an unknown outcome still counts as one that may have delivered the lead, whatever skips the delivery', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'gone', 'never');
      await on.list([1]);
      await on.ledger.release((await on.take('crm')).ref, true);
      await on.ledger.release((await on.take('gone')).ref, true);
      await on.declare('crm', 'never');
      expect(await on.ledger.forget('gone')).toBe(1);
      await eraseOne(on);
      const untold = { had: 1, certain: 0, told: 0, owed: 0, refused: 0, paused: false };
      const leads = [{ source: 'main', leadId: 1n }];
      expect(await on.ledger.sinkErasures(leads)).toEqual([
        { sink: 'crm', ...untold },
        { sink: 'gone', ...untold },
      ]);
      await eraseOne(on, ONE, ['crm', 'never']);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '1 v1 pending']);
      expect(await on.owed('never')).toEqual(['1 v1 skipped']);
    });

    it('the answer of a destination to a whole batch is removed from the attempts of all its leads', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const down = { ...unavailable, answer: 'Dear Ada' };
      const { ref } = await on.take('crm', { max: 2 });
      await on.settle(ref, down, down);
      await on.list([1, 2, 3]);
      await on.attemptAll('crm', { ...refused, answer: 'Dear Bob' });
      expect(await eraseOne(on)).toMatchObject({ attempts: 2 });
      const answers = async (lead: bigint) =>
        (await on.ledger.trace(lead)).flatMap(({ answer }) => answer ?? []);
      expect(await answers(2n)).toEqual([]);
      expect(await answers(3n)).toEqual(['Dear Bob']);
    });

    it('the erasure is remembered until every place is reported as reached', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await eraseOne(on);
      const [left] = await on.again().ledger.unfinishedErasures();
      expect(left).toMatchObject({ source: 'main', leadId: 1n });
      await on.ledger.finishErasing([{ source: 'main', leadId: 1n }]);
      expect(await on.ledger.unfinishedErasures()).toEqual([]);
      expect(await on.ledger.erasedLeads()).toEqual([{ source: 'main', leadId: 1n }]);
    });
  });
}
