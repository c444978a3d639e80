import { describe, expect, it } from 'vitest';
import type { ListedItem } from '../../../src/leads/listed-lead.ts';
import type { PollResult } from '../../../src/leads/poll-result.ts';
import type { PageReader } from '../../../src/ledger/contract/ledger-pages.ts';
import type {
  Order,
  Page,
  PollSearch,
  RejectedSearch,
  Rows,
} from '../../../src/ledger/contract/page-rows.ts';
import { pollJson } from '../../../src/status/record-json.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { changedLead, delivered, ids, MINUTE, refused } from '../ledger-under-test.ts';
import { all, opened, type PagedStore } from '../paged-store.ts';

/** Registers the tests of what every ledger lists on pages: deliveries, polls and rejected leads, and the orders of all lists. */
export function listPagesContract(store: () => PagedStore): void {
  describe('the lists of pages', () => {
    it('deliveries of several sinks and states come newest first, each once, and are counted', async () => {
      const { on, queries } = await opened(store, 'crm', 'drop');
      await on.list(ids(1, 5));
      await on.attemptAll('crm');
      on.clock.jump(MINUTE);
      await on.list(ids(1, 8));
      await on.attemptAll('crm', refused);
      const page = (filter: Parameters<typeof queries.ask<'deliveries'>>[1]) =>
        all((after) => queries.ask('deliveries', filter, { limit: 3, after }));
      const everything = await page({});
      expect(everything).toHaveLength(16);
      expect(new Set(everything.map(({ delivery }) => delivery)).size).toBe(16);
      expect(everything.map(({ owedAt }) => owedAt.getTime())).toEqual(
        everything.map(({ owedAt }) => owedAt.getTime()).sort((a, b) => b - a),
      );
      expect((await page({ sink: 'crm' })).map(({ lead, state }) => `${lead} ${state}`)).toEqual([
        ...['8 dead', '7 dead', '6 dead'],
        ...ids(1, 5)
          .reverse()
          .map((id) => `${id} delivered`),
      ]);
      expect((await page({ lead: 7n })).map(({ sink, state }) => `${sink} ${state}`)).toEqual([
        'drop pending',
        'crm dead',
      ]);
      const counted = async (filter: Parameters<typeof queries.ask<'countDeliveries'>>[1]) =>
        (await queries.ask('countDeliveries', filter, 10_000)).count;
      expect(await counted({})).toBe(16);
      expect(await queries.ask('countDeliveries', {}, 10)).toEqual({ count: 10, isAtLeast: true });
      expect(await counted({ sink: 'crm', states: ['dead'] })).toBe(3);
      expect(await counted({ sink: 'crm', states: ['dead'], since: on.clock.in(1) })).toBe(0);
      expect(await counted({ source: 'main' })).toBe(16);
      expect(await counted({ source: 'other' })).toBe(0);
      expect(await counted({ delivery: everything[0]?.delivery })).toBe(1);
      const ofSeven = (await page({ lead: 7n, sink: 'crm' })).map(({ delivery }) => delivery);
      const named = { leads: [7n, 8n, 99n], deliveries: [...ofSeven, 'crm:main:99:1:0a1b2c3d'] };
      expect(await counted({ ids: named })).toBe(4);
      expect(await counted({ ids: named, states: ['dead'] })).toBe(2);
      expect(await counted({ ids: named, lead: 7n })).toBe(2);
    });

    it('polls come newest first and can be found by source and status', async () => {
      const { on, queries } = await opened(store);
      await on.list([1]);
      await on.list([1], 'other', { status: 'failed', httpStatus: 503, error: 'server: It is down.' });
      await on.list([1, 2]);
      const rows = await all((after) => queries.ask('polls', {}, { limit: 1, after }));
      expect(rows.map(({ poll_id, listed_before }) => [poll_id, listed_before])).toEqual([
        [3, 1],
        [2, null],
        [1, null],
      ]);
      expect((await queries.ask('polls', { status: 'failed' }, { limit: 9 })).rows).toMatchObject([
        { poll_id: 2, http_status: 503, error: 'server: It is down.' },
      ]);
      expect(
        (await queries.ask('polls', { source: 'main' }, { limit: 9 })).rows.map(({ poll_id }) => poll_id),
      ).toEqual([3, 1]);
      const counted = (search: PollSearch, most = 10) => queries.ask('countPolls', search, most);
      expect(await counted({})).toEqual({ count: 3, isAtLeast: false });
      expect(await counted({}, 2)).toEqual({ count: 2, isAtLeast: true });
      expect(await counted({ status: 'failed' })).toEqual({ count: 1, isAtLeast: false });
      expect(await counted({ source: 'main', result: 'success' })).toEqual({ count: 2, isAtLeast: false });
    });

    it('rejected leads come newest first, with their polls, and can be found by source and state', async () => {
      const { on, queries } = await opened(store);
      const broken = (id: number | undefined, raw: string): ListedItem => ({
        kind: 'rejected',
        position: 0,
        id: id === undefined ? undefined : BigInt(id),
        reason: 'must be a number',
        path: 'id',
        hash: raw,
        raw,
      });
      await on.list([broken(undefined, '{"id":"x"}')]);
      await on.list([broken(undefined, '{"id":"x"}'), broken(9, '{"id":9}')]);
      const rows = await all((after) => queries.ask('rejected', {}, { limit: 1, after }));
      const [second = 0, first = 0] = rows.map(({ rejected_id }) => rejected_id); // there may be gaps
      expect(rows).toMatchObject([
        { rejected_id: second, lead_id: '9', poll_id: 2, last_poll_id: 2, resolved_at: null },
        {
          rejected_id: first,
          lead_id: null,
          path: 'id',
          reason: 'must be a number',
          poll_id: 1,
          last_poll_id: 2,
        },
      ]);
      expect(rows.map(({ state }) => state)).toEqual(['open', 'open']);
      const idsOf = async (state: 'open' | 'gone' | 'resolved') =>
        (await queries.ask('rejected', { state }, { limit: 9 })).rows.map(({ rejected_id }) => rejected_id);
      // A listing that broke off says nothing about what it did not reach.
      await on.list([], 'main', { status: 'partial', httpStatus: 200, error: 'network: It was reset.' });
      expect([await idsOf('open'), await idsOf('gone')]).toEqual([[second, first], []]);
      await on.list([broken(undefined, '{"id":"x"}')]);
      expect([await idsOf('open'), await idsOf('gone')]).toEqual([[first], [second]]);
      await on.list([9]);
      const states = [await idsOf('open'), await idsOf('gone'), await idsOf('resolved')];
      expect(states).toEqual([[], [first], [second]]);
      expect((await queries.ask('rejected', { source: 'other' }, { limit: 9 })).rows).toEqual([]);
      const fault = { source: 'main', path: 'id', reason: 'must be a number' };
      const counted = (search: RejectedSearch, most = 10) => queries.ask('countRejected', search, most);
      expect(await counted({})).toEqual({ count: 2, isAtLeast: false, faults: [{ ...fault, leads: 2 }] });
      expect(await counted({}, 1)).toEqual({ count: 1, isAtLeast: true, faults: [{ ...fault, leads: 1 }] });
      expect(await counted({ state: 'gone' })).toMatchObject({ count: 1, isAtLeast: false });
      expect(await counted({ source: 'other' })).toEqual({ count: 0, isAtLeast: false, faults: [] });
      expect(JSON.stringify(rows)).not.toContain('"x"');
      expect(await queries.ask('rejectedText', first)).toMatchObject({
        rejected_id: first,
        source: 'main',
        lead_id: null,
        path: 'id',
        reason: 'must be a number',
        raw: '{"id":"x"}',
      });
      expect(await queries.ask('rejectedText', second + 1)).toBeUndefined();
    });

    it('an invalid cursor is rejected, and the reader continues', async () => {
      const { queries } = await opened(store);
      await expect(queries.ask('leads', {}, { limit: 5, after: "0' OR 1" })).rejects.toMatchObject({
        name: 'LedgerError',
        hint: expect.stringContaining('after'),
      });
      expect(await queries.ask('leads', {}, { limit: 5 })).toEqual({ rows: [], next: null });
    });

    it('a delivery says how often it was attempted in all, and whether it was answered, also after a retry', async () => {
      const { on, queries } = await opened(store);
      await on.list(ids(1, 2));
      await on.attemptAll('crm', { ...refused, answer: 'no agent for Anna' });
      await on.ledger.retry({ lead: 1n });
      const { rows } = await queries.ask('deliveries', {}, { limit: 9 });
      expect(rows).toMatchObject([
        { lead: '2', state: 'dead', attempts: 1, attemptsMade: 1, hasAnswer: true },
        { lead: '1', state: 'pending', attempts: 0, attemptsMade: 1, hasAnswer: true },
      ]);
      const answersOf = async (delivery: string | undefined) =>
        (await queries.ask('content', 'main', 1n, undefined, delivery))?.answers.length;
      expect(await answersOf(rows[1]?.delivery)).toBe(1);
      expect(await answersOf(rows[0]?.delivery)).toBe(0);
      await on.attemptAll('crm', delivered);
      const [, again] = (await queries.ask('deliveries', {}, { limit: 9 })).rows;
      expect(again).toMatchObject({ state: 'delivered', attempts: 1, attemptsMade: 2 });
      const totals = await queries.ask('attemptTotals', { now: on.clock.now(), periodMs: 10 * MINUTE });
      expect(totals).toMatchObject([{ sink: 'crm', total: { delivered: 1, refused: 2, unavailable: 0 } }]);
      const { recent = [] } =
        (await queries.ask('sinkActivity', 'crm', {
          now: on.clock.now(),
          periodMs: MINUTE,
          stepMs: MINUTE,
        })) ?? {};
      expect(recent.map(({ outcome, hasAnswer }) => [outcome, hasAnswer])).toEqual([
        ['delivered', false],
        ['refused', true],
        ['refused', true],
      ]);
    });

    it('a list that is sorted oldest first has the rows of the other order, reversed, with every filter', async () => {
      const { on, queries } = await opened(store, 'crm', 'mirror');
      await on.list([1, 2, 3]);
      await on.attemptAll('crm', refused);
      const since = on.clock.in(1_000);
      on.clock.jump(60_000);
      await on.list([changedLead(1, 'B'), 2, 3, 4, 5]);
      await on.attemptAll('mirror', delivered);
      on.clock.jump(60_000);
      await on.list([4, 5, 6, 7]);
      for (const [name, [least, list]] of Object.entries(listsOf(queries, since))) {
        const newest = await textsOf(list, 'newest');
        expect(newest.length, name).toBeGreaterThanOrEqual(least);
        expect(await textsOf(list, 'oldest'), name).toEqual(newest.toReversed());
      }
    });

    it('polls can be filtered by their result, which distinguishes a shrunk listing and rejected leads from a success', async () => {
      const { on, queries } = await opened(store);
      const many = ids(1, 60);
      await on.list(many);
      await on.list([
        ...many,
        { ...aListedLead({ id: 61 }), kind: 'rejected', reason: 'It is wrong.', path: 'key' },
      ]);
      await on.list([1, 2, 3]);
      await on.list([1, 2, 3, 4]);
      await on.list([1, 2], 'main', { status: 'failed', httpStatus: 500, error: 'server: it failed' });
      const found = async (result: PollResult) =>
        (await queries.ask('polls', { result }, { limit: 10 })).rows.map((poll) => [
          poll.poll_id,
          pollJson(poll).result,
        ]);
      expect(await found('success')).toEqual([[1, 'success']]);
      expect(await found('rejected')).toEqual([[2, 'rejected']]);
      expect(await found('shrunk')).toEqual([
        [4, 'shrunk'],
        [3, 'shrunk'],
      ]);
      expect(await found('failed')).toEqual([[5, 'failed']]);
      const count = async (search: Parameters<typeof queries.ask<'polls'>>[1]) =>
        (await queries.ask('polls', search, { limit: 10 })).rows.length;
      expect(await count({ status: 'success', result: 'failed' })).toBe(0);
      expect(await count({ status: 'success' })).toBe(4);
    });

    it('a poll that confirms a listing with rejected leads has their result, too', async () => {
      const { on, queries } = await opened(store);
      await on.list([
        1,
        { ...aListedLead({ id: 2 }), kind: 'rejected', reason: 'It is wrong.', path: 'key' },
      ]);
      await on.list([], 'main', { status: 'unchanged', bytes: 0, httpStatus: 304 });
      const { rows } = await queries.ask('polls', { result: 'rejected' }, { limit: 10 });
      expect(rows.map(({ status, listing_rejected }) => [status, listing_rejected])).toEqual([
        ['unchanged', 1],
        ['success', 1],
      ]);
      const others = (await queries.ask('polls', { result: 'not-unchanged' }, { limit: 10 })).rows;
      expect(others.map(({ status }) => status)).toEqual(['success']);
      const count = await queries.ask('countPolls', { source: 'main', result: 'not-unchanged' }, 10);
      expect(count).toEqual({ count: 1, isAtLeast: false });
    });
  });
}

type List = (page: Page) => Promise<Rows<object>>;

/** Returns lists with filters, by name, each with the least number of its rows. */
function listsOf(queries: PageReader, since: Date): Readonly<Record<string, readonly [number, List]>> {
  return {
    leads: [7, (page) => queries.ask('leads', {}, page)],
    'leads since a time': [4, (page) => queries.ask('leads', { since }, page)],
    'leads until a time': [3, (page) => queries.ask('leads', { until: since }, page)],
    'leads of a service': [7, (page) => queries.ask('leads', { service: 'house-cleaning' }, page)],
    'leads that are gone': [3, (page) => queries.ask('leads', { listing: 'gone' }, page)],
    'one lead': [1, (page) => queries.ask('leads', { lead: 1n }, page)],
    deliveries: [14, (page) => queries.ask('deliveries', {}, page)],
    'deliveries of a sink since a time': [
      4,
      (page) => queries.ask('deliveries', { sink: 'crm', since }, page),
    ],
    'dead deliveries': [3, (page) => queries.ask('deliveries', { states: ['dead'] }, page)],
    'deliveries of a lead': [2, (page) => queries.ask('deliveries', { lead: 1n }, page)],
    polls: [3, (page) => queries.ask('polls', {}, page)],
  };
}

/** Returns the texts of all rows of a list, read by pages of two. */
async function textsOf(list: List, order: Order): Promise<string[]> {
  const rows = await all((after) => list({ limit: 2, after, order }));
  return rows.map((row) => JSON.stringify(row));
}
