import { describe, expect, it } from 'vitest';
import type { FeedCursor, FeedEntry } from '../../../src/ledger/contract/feed-entries.ts';
import { aLead, hashOf } from '../../support/scene/a-lead.ts';
import {
  changedLead,
  delivered,
  ids,
  LedgerUnderTest,
  type OpenLedger,
  refused,
  unavailable,
} from '../ledger-under-test.ts';

const broken = { status: 'failed', httpStatus: 500, error: 'server: it broke' } as const;

/** Registers the tests of what every ledger promises to readers of the change feed. */
export function changeFeedContract(store: () => OpenLedger): void {
  describe('the change feed', () => {
    const begin = async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      return { on, cursor: await on.ledger.feedCursor() };
    };
    /** Returns everything since a cursor, in as many parts as needed. */
    const all = async ({ ledger }: LedgerUnderTest, since: FeedCursor, withData = false) => {
      const entries: FeedEntry[] = [];
      for (let cursor = since; ; ) {
        const news = await ledger.feed(cursor, withData);
        entries.push(...news.entries);
        cursor = news.cursor;
        if (!news.more) return { entries, cursor };
      }
    };

    it('the feed is empty if nothing has happened', async () => {
      const { on, cursor } = await begin();
      expect(await on.ledger.feed(cursor, true)).toEqual({ entries: [], cursor, more: false });
    });

    it('the feed lists leads, then the poll that found them, then their attempts, each once', async () => {
      const { on, cursor } = await begin();
      await on.list([1, 2]);
      on.clock.jump(1);
      await on.attemptAll('crm');
      const { entries, cursor: later } = await all(on, cursor);
      const told = entries.map((entry) => (entry.kind === 'attempt' ? entry.outcome : entry.kind));
      expect(told.toSorted()).toEqual(['delivered', 'delivered', 'lead', 'poll']);
      expect(entries).toContainEqual(
        expect.objectContaining({ kind: 'lead', lead: '2', version: 1, changedFields: [] }),
      );
      expect((await all(on, later)).entries).toEqual([]);
    });

    it('the feed names changed fields, and contains content only on request', async () => {
      const { on, cursor } = await begin();
      await on.list([changedLead(1, 'Somebody else')]);
      await on.attemptAll('crm', refused);
      const quiet = JSON.stringify((await all(on, cursor)).entries);
      expect(quiet).toContain('client_name');
      expect(quiet).not.toContain('Somebody else');
      expect(quiet).not.toContain('"answer"');
      const { entries } = await all(on, cursor, true);
      expect(entries).toContainEqual(
        expect.objectContaining({ kind: 'lead', raw: changedLead(1, 'Somebody else').raw }),
      );
      expect(entries).toContainEqual(
        expect.objectContaining({ kind: 'attempt', answer: 'no', state: 'dead' }),
      );
    });

    it('the feed lists a poll once it has ended, even a failed one, whichever source is first', async () => {
      const { on, cursor } = await begin();
      const slow = await on.ledger.startPoll('main');
      await on.list([], 'other');
      const first = await all(on, cursor);
      expect(first.entries).toMatchObject([{ kind: 'poll', source: 'other', status: 'success' }]);
      await on.ledger.finishPoll(slow, broken);
      expect((await all(on, first.cursor)).entries).toMatchObject([
        { kind: 'poll', source: 'main', status: 'failed', error: 'server: it broke' },
      ]);
    });

    it('the feed lists a rejected lead once, however often the service lists it', async () => {
      const { on, cursor } = await begin();
      const raw = aLead({ id: 7 });
      const rejected = {
        kind: 'rejected',
        position: 0,
        id: 7n,
        raw,
        hash: hashOf(raw),
        reason: 'is no text',
        path: 'client_name',
      } as const;
      await on.list([1, rejected]);
      const { entries, cursor: later } = await all(on, cursor);
      expect(entries).toContainEqual(
        expect.objectContaining({ kind: 'rejection', lead: '7', path: 'client_name', reason: 'is no text' }),
      );
      await on.list([1, rejected]);
      expect((await all(on, later)).entries).toMatchObject([{ kind: 'poll' }]);
    });

    it('the feed lists a repeated, identical failure once', async () => {
      const { on, cursor } = await begin();
      for (let n = 0; n < 8; n += 1) {
        await on.attemptAll('crm', unavailable);
        on.clock.jump(3_600_000);
      }
      const attempts = (await all(on, cursor)).entries.filter(({ kind }) => kind === 'attempt');
      expect(attempts.length).toBeLessThan(8);
      expect(attempts[0]).toMatchObject({ outcome: 'unavailable', httpStatus: 503, error: 'It is down.' });
    });

    it('a feed of many polls comes in parts, too', async () => {
      const { on, cursor } = await begin();
      for (let n = 0; n < 501; n += 1) await on.list([1]);
      expect((await on.ledger.feed(cursor, false)).more).toBe(true);
      expect((await all(on, cursor)).entries).toHaveLength(501);
    });

    it('a long feed comes in parts, without gaps or repeats', async () => {
      const { on, cursor } = await begin();
      await on.list(ids(1, 1300));
      expect((await on.ledger.feed(cursor, false)).more).toBe(true);
      await on.attemptAll('crm', delivered, { max: 1300 });
      const { entries } = await all(on, cursor);
      const leads = entries.flatMap((entry) => (entry.kind === 'lead' ? [entry.lead] : []));
      const attempted = entries.flatMap((entry) => (entry.kind === 'attempt' ? [entry.lead] : []));
      expect(leads).toEqual(ids(2, 1300).map(String));
      expect(attempted).toEqual(ids(1, 1300).map(String));
    });
  });
}
