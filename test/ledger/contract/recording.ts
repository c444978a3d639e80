import { describe, expect, it } from 'vitest';
import type { ListedLead, RejectedLead } from '../../../src/leads/listed-lead.ts';
import { aLead, aListedLead, hashOf, listedAs } from '../../support/scene/a-lead.ts';
import {
  aSink,
  changedLead,
  delivered,
  ids,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  refused,
  unanswered,
  unavailable,
} from '../ledger-under-test.ts';

const complete = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;

/** Registers the tests of what every ledger promises about listings: which leads are recorded, owed and rejected. */
export function recordingContract(store: () => OpenLedger): void {
  describe('recording a listing', () => {
    it('a new lead is recorded and owed to every sink, once', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      const first = await on.list([1, 2]);
      const second = await on.list([2, 1, 3]);
      expect(first.recorded).toEqual({ listed: 2, new: 2, changed: 0, rejected: 0 });
      expect(second.recorded).toEqual({ listed: 3, new: 1, changed: 0, rejected: 0 });
      for (const sink of ['crm', 'drop'])
        expect(await on.owed(sink)).toEqual(['1 v1 pending', '2 v1 pending', '3 v1 pending']);
    });

    it('leads of two sources stay apart although their ids are the same', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([7], 'north');
      await on.list([7], 'south');
      expect((await on.list([7], 'south')).recorded.new).toBe(0);
      const rows = await on.ledger.deliveries({ sink: 'crm' }, { limit: 10 });
      expect(rows.map((row) => row.source).sort()).toEqual(['north', 'south']);
      expect(new Set(rows.map((row) => row.delivery)).size).toBe(2);
    });

    it('ids above 2^53 are exact, up to 2^63-1', async () => {
      const large = [2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, 2n ** 63n - 2n, 2n ** 63n - 1n];
      const on = await LedgerUnderTest.with(store(), 'crm');
      expect((await on.list(large)).recorded.new).toBe(5);
      expect((await on.list([...large].reverse())).recorded.new).toBe(0);
      expect((await on.attemptAll('crm')).flat()).toEqual(large);
      const [row] = await on.ledger.deliveries({ lead: 2n ** 63n - 1n }, { limit: 10 });
      expect(row).toMatchObject({ lead: '9223372036854775807', state: 'delivered' });
    });

    it('changed content gets its own version, owed only to sinks that ask for changes', async () => {
      const on = await LedgerUnderTest.with(
        store(),
        'crm',
        aSink('mirror', { events: ['created', 'updated'] }),
      );
      await on.list([1]);
      for (const sink of ['crm', 'mirror']) await on.attemptAll(sink);
      expect((await on.list([changedLead(1, 'Anna Schmidt')])).recorded).toMatchObject({
        new: 0,
        changed: 1,
      });
      expect(await on.owed('crm')).toEqual(['1 v1 delivered']);
      expect(await on.owed('mirror')).toEqual(['1 v1 delivered', '1 v2 pending']);
      const [update] = await on.ledger.deliveries({ sink: 'mirror' }, { limit: 1 });
      expect(update).toMatchObject({ version: 2, event: 'updated' });
    });

    it('a delivery that was never attempted moves to the newest content for every sink, and keeps its event and its place', async () => {
      const both = aSink('mirror', { events: ['created', 'updated'] });
      const on = await LedgerUnderTest.with(store(), 'crm', both);
      await on.list([1, 2]);
      on.clock.jump(MINUTE);
      await on.list([changedLead(1, 'B'), 2]);
      for (const sink of ['crm', 'mirror']) {
        expect(await on.owed(sink)).toEqual(['1 v2 pending', '2 v1 pending']);
        const { batch, ref } = await on.take(sink, { max: 2 });
        expect(batch.deliveries.map(({ event, version }) => [event, version])).toEqual([
          ['created', 2],
          ['created', 1],
        ]);
        await on.settle(ref, delivered, delivered);
      }
      expect((await on.ledger.status()).sinks).toMatchObject([
        { sink: 'crm', pending: 0, delivered: 2, skipped: 0 },
        { sink: 'mirror', pending: 0, delivered: 2, skipped: 0 },
      ]);
    });

    it('an older content that failed and waits for its next attempt is immediately replaced by the newer one', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      const first = await on.take('crm', { window: 1 });
      await on.settle(first.ref, unavailable);
      expect(await on.attemptAll('crm')).toEqual([[2n]]);
      await on.list([changedLead(1, 'B'), 2]);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '2 v1 delivered', '1 v2 pending']);
      const [old] = await on.ledger.deliveries({ states: ['skipped'] }, { limit: 1 });
      expect(old?.reason).toBe('a newer delivery of the same lead replaced it');
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ version: 2, event: 'updated' }]);
      expect((await on.ledger.status()).sinks).toMatchObject([
        { pending: 1, delivered: 1, skipped: 1, dead: 0 },
      ]);
    });

    it('an older content that is being delivered, or waits in a batch that may have arrived, stays', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2, 3]);
      const pair = await on.take('crm', { max: 2, window: 1 });
      await on.settle(pair.ref, unanswered, unanswered);
      await on.take('crm');
      await on.list([changedLead(1, 'B'), 2, changedLead(3, 'B')]);
      expect(await on.owed('crm')).toEqual([
        '1 v1 pending',
        '2 v1 pending',
        '3 v1 pending',
        '1 v2 pending',
        '3 v2 pending',
      ]);
    });

    it('a lead given up by a sink without updates is owed again when its content changes', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const first = await on.take('crm', { window: 1 });
      await on.settle(first.ref, refused);
      expect(await on.attemptAll('crm')).toEqual([[2n]]);
      await on.list([changedLead(1, 'B'), changedLead(2, 'B')]);
      expect(await on.owed('crm')).toEqual(['1 v1 dead', '2 v1 delivered', '1 v2 pending']);
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ version: 2, event: 'created' }]);
    });

    it('the same id twice in one listing is one lead if the content is the same', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const { recorded, summary } = await on.list([1, 1, 2]);
      expect(recorded).toMatchObject({ new: 2, changed: 0, rejected: 0 });
      expect(summary.listed).toBe(2);
    });

    it('of two contents with one id, the second is rejected, and every later poll keeps the first', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      const listing = [1, changedLead(1, 'Somebody Else'), 2];
      expect((await on.list(listing)).recorded).toMatchObject({ new: 2, changed: 0, rejected: 1 });
      for (let poll = 0; poll < 3; poll += 1)
        expect((await on.list(listing)).recorded).toMatchObject({ new: 0, changed: 0, rejected: 1 });
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending']);
    });

    it('the same holds for two contents with one id in different chunks', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      for (let round = 0; round < 2; round += 1) {
        const poll = await on.ledger.startPoll('main');
        await on.ledger.record(poll, [aListedLead({ id: 1 })]);
        await on.ledger.record(poll, [changedLead(1, 'Somebody Else')]);
        await on.ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
      }
      expect(await on.owed('crm')).toEqual(['1 v1 pending']);
    });

    it.each(inEveryOrder(['known', 'other', 'third']))(
      'the ledger settles on one content of an id that is listed with several, whatever their order: %s, %s, %s',
      async (...names) => {
        const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
        const versions = async () => (await on.owed('crm')).length;
        await on.list([changedLead(1, 'known')]);
        await listOneByOne(
          on,
          names.map((name) => changedLead(1, name)),
        );
        const settled = await versions();
        expect(settled).toBeLessThanOrEqual(2);
        for (const order of inEveryOrder(['known', 'other', 'third']))
          await listOneByOne(
            on,
            order.map((name) => changedLead(1, name)),
          );
        expect(await versions()).toBe(settled);
      },
    );

    it('the known content stays if the same chunk contains it; the other is accepted once it is listed alone', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      const other = changedLead(1, 'Somebody Else');
      expect((await on.list([other, 1, 2])).summary).toMatchObject({ changed: 0, rejected: 1 });
      expect((await on.list([2, other])).summary).toMatchObject({ listed: 2, changed: 1, rejected: 0 });
      expect((await on.owed('crm')).toSorted()).toEqual(['1 v2 pending', '2 v1 pending']);
      expect((await on.ledger.status()).sources[0]).toMatchObject({ rejected: 0, listed: 2 });
      expect((await on.list([other, 2])).summary).toMatchObject({ changed: 0, rejected: 0 });
    });

    it('a listing that breaks off makes no rejected content valid: its rest may contain the known one', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      const other = changedLead(1, 'Somebody Else');
      await on.list([1, other]);
      await on.list([other], 'main', { status: 'partial', httpStatus: 200, error: 'it broke off' });
      expect(await on.owed('crm')).toEqual(['1 v1 pending']);
      await on.list([other, 1]);
      expect(await on.owed('crm')).toEqual(['1 v1 pending']);
    });

    it('a poll names the first five reasons of its rejected leads, and counts the leads with others', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const reasons = [1, 2, 3, 4, 5, 6, 7, 1].map((no) => `Fault ${no}.`);
      const rejected = reasons.map(
        (reason, at) => ({ ...aListedLead({ id: at + 1 }), kind: 'rejected', reason, path: '' }) as const,
      );
      const { summary } = await on.list(rejected);
      expect(summary).toMatchObject({
        rejected: 8,
        rejectedFor: reasons.slice(0, 5),
        rejectedForOthers: 2,
      });
    });

    it('an empty, shorter or reordered listing removes nothing', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const { summary } = await on.list([]);
      expect(summary).toMatchObject({ listed: 0, listedBefore: 3 });
      await on.list([3]);
      expect((await on.list([3, 1, 2])).recorded).toMatchObject({ new: 0, changed: 0 });
      expect(await on.owed('crm')).toHaveLength(3);
      const [main] = (await on.ledger.status()).sources;
      expect(main).toMatchObject({ source: 'main', leads: 3, listed: 3 });
    });

    it('the leads of an interrupted listing stay, and the next listing repeats none', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2], 'main', {
        status: 'partial',
        httpStatus: 200,
        error: 'incomplete: it broke off',
      });
      expect((await on.list([1, 2, 3])).recorded.new).toBe(1);
      expect(await on.owed('crm')).toHaveLength(3);
    });

    it('a failed chunk can be recorded again and counts once', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const poll = await on.ledger.startPoll('main');
      const unfit = { ...aListedLead({ id: 2 }), raw: undefined as unknown as string };
      await expect(on.ledger.record(poll, [aListedLead({ id: 1 }), unfit])).rejects.toThrow();
      expect(await on.owed('crm')).toEqual([]);
      await on.ledger.record(poll, [aListedLead({ id: 1 }), aListedLead({ id: 2 })]);
      const summary = await on.ledger.finishPoll(poll, {
        status: 'success',
        bytes: 1,
        httpStatus: 200,
        mark: undefined,
      });
      expect(summary).toMatchObject({ listed: 2, new: 2 });
    });

    it('a failed chunk leaves nothing seen: other leads in its place are listed, and may change', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      const poll = await on.ledger.startPoll('main');
      const unfit = { ...aListedLead({ id: 3 }), raw: undefined as unknown as string };
      const failed = on.ledger.record(poll, [aListedLead({ id: 1 }), aListedLead({ id: 2 }), unfit]);
      await expect(failed).rejects.toThrow();
      await on.ledger.record(poll, [aListedLead({ id: 9 })]);
      expect(await on.ledger.finishPoll(poll, complete)).toMatchObject({ listed: 1, new: 1 });
      expect((await on.list([changedLead(9, 'B')])).summary).toMatchObject({ changed: 1, rejected: 0 });
    });

    it('the ledger counts what a source has ever listed, and what each sink has in each state', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', aSink('late', { backfill: false }));
      await on.list(ids(1, 5));
      await on.list(ids(4, 9));
      await on.attemptAll('crm', delivered, { window: 3 });
      await on.attemptAll('crm', refused, { window: 1 });
      const { sources, sinks } = await on.ledger.status();
      expect(sources[0]).toMatchObject({ leads: 9, listed: 6 });
      expect(sinks[0]).toMatchObject({ pending: 5, delivered: 3, dead: 1, skipped: 0 });
      expect(sinks[1]).toMatchObject({ pending: 4, delivered: 0, dead: 0, skipped: 5 });
      expect(await on.ledger.retry({ sink: 'crm' })).toBe(6);
      expect((await on.ledger.backlog())[0]).toMatchObject({ pending: 6, dead: 0 });
    });
  });

  describe("a listing's marker", () => {
    const mark = { url: 'https://x/leads', etag: 'W/"1"', bodyHash: 'abc', bodyBytes: 12 };
    const success = { status: 'success', bytes: 12, httpStatus: 200, mark } as const;

    it('the marker is stored once the listing was recorded completely, and survives a restart', async () => {
      const open = store();
      const on = await LedgerUnderTest.with(open, 'crm');
      expect(await on.ledger.listingMark('main')).toBeUndefined();
      await on.list([1], 'main', success);
      expect(await on.again().ledger.listingMark('main')).toEqual(mark);
      expect(await on.ledger.listingMark('other')).toBeUndefined();
    });

    it.each(['partial', 'failed'] as const)(
      'after a %s poll, the marker stays that of the last complete listing',
      async (status) => {
        const on = await LedgerUnderTest.with(store(), 'crm');
        await on.list([1], 'main', success);
        await on.list([2], 'main', { status, httpStatus: 200, error: 'incomplete' });
        expect(await on.ledger.listingMark('main')).toEqual(mark);
      },
    );

    it.each(['partial', 'failed', 'never'] as const)(
      'a change removes the marker, in a poll that ends as %s',
      async (status) => {
        const on = await LedgerUnderTest.with(store(), 'crm');
        await on.list([1], 'main', success);
        const poll = await on.ledger.startPoll('main');
        await on.ledger.record(poll, [changedLead(1, 'B')]);
        if (status !== 'never')
          await on.ledger.finishPoll(poll, { status, httpStatus: 200, error: 'incomplete' });
        expect(await on.ledger.listingMark('main')).toBeUndefined();
      },
    );

    it('leads that are gone, or listed again, remove the marker, in a poll that breaks off', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2], 'main', success);
      const poll = await on.ledger.startPoll('main');
      const unfit = { url: 1n as unknown as string, etag: undefined };
      await expect(on.ledger.finishPoll(poll, { ...success, mark: unfit })).rejects.toThrow();
      expect(await on.ledger.listingMark('main')).toBeUndefined();
      await on.list([1], 'main', success);
      await on.list([1, 2], 'main', { status: 'partial', httpStatus: 200, error: 'incomplete' });
      expect(await on.ledger.listingMark('main')).toBeUndefined();
    });

    it('a complete listing that cannot be recognised again removes the marker', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1], 'main', success);
      await on.list([1]);
      expect(await on.ledger.listingMark('main')).toBeUndefined();
    });

    it('an unchanged poll with a newer marker replaces the old one', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1], 'main', success);
      const newer = { ...mark, etag: 'W/"2"' };
      await on.list([], 'main', { status: 'unchanged', bytes: 12, httpStatus: 200, mark: newer });
      expect(await on.ledger.listingMark('main')).toEqual(newer);
      await on.list([], 'main', { status: 'unchanged', bytes: 0, httpStatus: 304 });
      expect(await on.ledger.listingMark('main')).toEqual(newer);
    });

    it('an unchanged poll confirms the marker and is as fresh as a success', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2], 'main', success);
      on.clock.jump(60_000);
      const { summary } = await on.list([], 'main', { status: 'unchanged', bytes: 0, httpStatus: 304 });
      expect(summary).toMatchObject({ listed: 2, new: 0, listedBefore: 2 });
      const [main] = (await on.ledger.status()).sources;
      expect(main?.lastSuccessAt).toEqual(on.clock.now());
      expect(main?.lastPoll).toMatchObject({ status: 'unchanged', listed: 2 });
      expect(await on.ledger.listingMark('main')).toEqual(mark);
    });
  });

  describe('a lead that breaks the description', () => {
    it('it is rejected without stopping the others, and is recorded once it is correct', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const broken = aRejected(2n);
      expect((await on.list([1, broken, 3])).recorded).toEqual({
        listed: 3,
        new: 2,
        changed: 0,
        rejected: 1,
      });
      expect((await on.ledger.status()).sources[0]).toMatchObject({ rejected: 1, leads: 2 });
      await on.list([1, broken, 3]);
      expect((await on.ledger.status()).sources[0]).toMatchObject({ rejected: 1 });
      expect((await on.list([1, 2, 3])).recorded).toMatchObject({ new: 1, rejected: 0 });
      expect((await on.ledger.status()).sources[0]).toMatchObject({ rejected: 0, leads: 3 });
    });

    it('a known lead keeps its content meanwhile, and is not owed again once it is correct', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      expect((await on.list([1, aRejected(2n)])).summary).toMatchObject({ listed: 1, rejected: 1 });
      expect((await on.ledger.status()).sources[0]).toMatchObject({ leads: 2, listed: 1, rejected: 1 });
      expect((await on.list([1, 2])).summary).toMatchObject({ listed: 2, new: 0, changed: 0, rejected: 0 });
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending']);
      await on.list([1, aRejected(2n)]);
      expect((await on.list([1, changedLead(2, 'B')])).summary).toMatchObject({ changed: 1 });
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v2 pending']);
    });

    it('the content of a known lead that was rejected is accepted once it is valid as it is, and its whole text is kept', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      const changed = changedLead(2, 'B');
      const tooLarge = { ...changed, kind: 'rejected', reason: 'It is too large.', path: '' } as const;
      await on.list([1, { ...tooLarge, raw: changed.raw.slice(0, 20) }]);
      // Also in a listing that breaks off, which never decides between repeats of an id.
      const partial = { status: 'partial', httpStatus: 200, error: 'incomplete' } as const;
      expect((await on.list([1, changed], 'main', partial)).summary).toMatchObject({
        changed: 1,
        rejected: 0,
      });
      await on.list([1, changed]);
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v2 pending']);
      expect((await on.take('crm', { max: 2 })).batch.deliveries[1]?.raw).toBe(changed.raw);
      expect((await on.ledger.status()).sources[0]).toMatchObject({ leads: 2, listed: 2, rejected: 0 });
      expect((await on.list([1, changed])).summary).toMatchObject({ changed: 0, rejected: 0 });
    });

    it('a content that was rejected and now repeats an id is rejected for that reason, with its whole text', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const other = changedLead(2, 'B');
      const reason = 'It is too large.';
      await on.list([1, 2, { ...other, kind: 'rejected', reason, path: '', raw: other.raw.slice(0, 20) }]);
      expect((await on.list([1, 2, other])).summary).toMatchObject({ changed: 0, rejected: 1 });
      // The known content disappears, so the content that was rejected is the lead's content now.
      expect((await on.list([1, other])).summary).toMatchObject({ changed: 1, rejected: 0 });
      expect((await on.take('crm', { max: 2 })).batch.deliveries[1]?.raw).toBe(other.raw);
    });

    it('it may lack a readable id', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const raw = '{"id":"x"}';
      const item: RejectedLead = { ...aRejected(1n), id: undefined, raw, hash: hashOf(raw) };
      expect((await on.list([item, 1])).recorded).toMatchObject({ new: 1, rejected: 1 });
    });
  });

  describe('a poll', () => {
    it('a poll that was running when the process ended is shown as failed once the next one starts', async () => {
      const open = store();
      const on = await LedgerUnderTest.with(open, 'crm');
      await on.ledger.startPoll('main');
      const next = on.again();
      expect((await next.ledger.status()).sources[0]?.lastPoll?.status).toBe('running');
      await next.list([1]);
      expect((await next.ledger.status()).sources[0]?.lastPoll).toMatchObject({ poll: 2, status: 'success' });
    });

    it('a poll of many chunks makes each lead new once, however the chunks are divided', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 2500));
      await on.list(ids(1, 10));
      const { recorded } = await on.list(ids(1, 2500));
      expect(recorded).toMatchObject({ new: 0, changed: 0 });
      expect((await on.ledger.status()).sources[0]).toMatchObject({ leads: 2500, listed: 2500 });
    });
  });

  describe('hostile text', () => {
    it.each([
      ['NUL, escapes and bidi controls', '\\u0000 \\u001b[2J \\u202e \\"\\\\'],
      ['a lone surrogate', '\\ud800'],
      ['SQL and quotes', 'Robert\'); DROP TABLE _leads;-- \\"`'],
      ['text beyond the basic plane', '𝕃 👩‍👩‍👧 漢字'],
    ])('hostile text comes back unchanged: %s', async (_, text) => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const raw = aLead({ id: 1 }).replace('Anna Müller', text);
      await on.list([listedAs(1n, raw)]);
      const { batch } = await on.take('crm');
      expect(batch.deliveries[0]?.raw).toBe(raw);
      expect((await on.list([listedAs(1n, raw)])).recorded.changed).toBe(0);
    });
  });
}

/** Lists these leads completely, each in its own chunk. */
async function listOneByOne(on: LedgerUnderTest, leads: readonly ListedLead[]): Promise<void> {
  const poll = await on.ledger.startPoll('main');
  for (const lead of leads) await on.ledger.record(poll, [lead]);
  await on.ledger.finishPoll(poll, complete);
}

function inEveryOrder(names: readonly string[]): string[][] {
  if (names.length < 2) return [[...names]];
  return names.flatMap((name) =>
    inEveryOrder(names.filter((other) => other !== name)).map((rest) => [name, ...rest]),
  );
}

function aRejected(id: bigint): RejectedLead {
  const raw = aLead({ id, client_email: null });
  const reason = 'A text is required here, and this is null.';
  return { kind: 'rejected', position: 0, id, raw, hash: hashOf(raw), reason, path: 'client_email' };
}
