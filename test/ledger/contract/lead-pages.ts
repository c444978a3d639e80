import { describe, expect, it } from 'vitest';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { aNewLead, delivered, HOUR, ids, MINUTE, refused } from '../ledger-under-test.ts';
import { all, opened, type PagedStore } from '../paged-store.ts';

const inService = (service_slug: string) => (id: number) => aListedLead({ id, service_slug });

/** Registers the tests of what every ledger tells the pages about leads. */
export function leadPagesContract(store: () => PagedStore): void {
  describe('the pages of leads', () => {
    it('leads come newest first, page by page, each once, across several sources', async () => {
      const { on, queries } = await opened(store);
      for (const [source, from] of [
        ['a', 1],
        ['b', 11],
        ['a', 21],
      ] as const) {
        await on.list(ids(source === 'a' ? 1 : from, from + 9), source);
        on.clock.jump(MINUTE);
      }
      const leads = await all((after) => queries.ask('leads', {}, { limit: 7, after }));
      const named = leads.map(({ source, lead }) => `${source}${lead}`);
      expect(named).toEqual([
        ...ids(11, 30)
          .reverse()
          .map((id) => `a${id}`),
        ...ids(11, 20)
          .reverse()
          .map((id) => `b${id}`),
        ...ids(1, 10)
          .reverse()
          .map((id) => `a${id}`),
      ]);
    });

    it('leads can be found by id, source, service and time', async () => {
      const { on, queries } = await opened(store);
      const before = on.clock.now();
      await on.list([...ids(1, 3).map(inService('cleaning')), ...ids(4, 6).map(inService('moving'))]);
      on.clock.jump(HOUR);
      const later = on.clock.now();
      await on.list([1, 2, 3].map(inService('cleaning')).concat([4, 5, 6, 7].map(inService('moving'))));
      await on.list([aListedLead({ id: 7 })], 'other');
      const found = async (search: Parameters<typeof queries.ask<'leads'>>[1]) =>
        (await queries.ask('leads', search, { limit: 100 })).rows.map(
          ({ source, lead }) => `${source} ${lead}`,
        );
      expect(await found({ lead: 7n })).toEqual(['other 7', 'main 7']);
      expect(await found({ lead: 7n, source: 'main' })).toEqual(['main 7']);
      expect(await found({ lead: 7n, service: 'cleaning' })).toEqual([]);
      expect(await found({ service: 'moving' })).toEqual(['main 7', 'main 6', 'main 5', 'main 4']);
      expect(await found({ service: 'moving', since: later })).toEqual(['main 7']);
      expect(await found({ service: 'moving', until: later })).toEqual(['main 6', 'main 5', 'main 4']);
      expect(await found({ service: 'moving', source: 'other' })).toEqual([]);
      expect(await found({ since: later })).toEqual(['other 7', 'main 7']);
      expect(await found({ since: before, until: later, source: 'main' })).toHaveLength(6);
      expect(await found({ source: 'nobody' })).toEqual([]);
    });

    it('leads that are no longer listed can be found, the last to vanish first, with the time', async () => {
      const { on, queries } = await opened(store);
      await on.list([...ids(1, 4).map(inService('cleaning')), ...ids(5, 9).map(inService('moving'))]);
      await on.list(ids(1, 3), 'other');
      on.clock.jump(HOUR);
      const listedAt = on.clock.now().getTime() - HOUR;
      const moving = ids(5, 9).map(inService('moving'));
      await on.list([...ids(1, 2).map(inService('cleaning')), ...moving]);
      on.clock.jump(HOUR);
      const later = on.clock.now();
      await on.list([...ids(1, 3).map(inService('cleaning')), ...moving.slice(1)]);
      await on.list(ids(2, 3), 'other');
      const found = async (search: Parameters<typeof queries.ask<'leads'>>[1]) =>
        (await all((after) => queries.ask('leads', search, { limit: 2, after }))).map(
          ({ source, lead }) => `${source} ${lead}`,
        );
      // Lead 3 is listed again.
      expect(await found({ listing: 'gone' })).toEqual(['other 1', 'main 5', 'main 4']);
      expect(await found({ listing: 'gone', source: 'main' })).toEqual(['main 5', 'main 4']);
      expect(await found({ listing: 'gone', service: 'moving' })).toEqual(['main 5']);
      expect(await found({ listing: 'gone', since: later })).toEqual(['other 1', 'main 5']);
      expect(await found({ listing: 'gone', until: later })).toEqual(['main 4']);
      expect(await found({ listing: 'gone', lead: 4n })).toEqual(['main 4']);
      expect(await found({ listing: 'gone', lead: 3n })).toEqual([]);
      expect(await found({ listing: 'current', source: 'other' })).toEqual(['other 3', 'other 2']);
      expect(await found({ listing: 'current', service: 'cleaning' })).toEqual([
        'main 3',
        'main 2',
        'main 1',
      ]);
      const [row] = (await queries.ask('leads', { lead: 4n, source: 'main' }, { limit: 1 })).rows;
      expect(row).toMatchObject({ goneAt: listedAt + HOUR, lastListedAt: listedAt });
      expect((await queries.ask('lead', 'main', 3n))?.lead).toMatchObject({
        goneAt: null,
        lastListedAt: null,
      });
    });

    it('a lead whose service changes is found under its current service', async () => {
      const { on, queries } = await opened(store);
      await on.list([inService('cleaning')(1)]);
      on.clock.jump(MINUTE);
      await on.list([inService('moving')(1)]);
      const found = async (service: string) =>
        (await queries.ask('leads', { service }, { limit: 9 })).rows.length;
      expect(await found('cleaning')).toBe(0);
      expect(await found('moving')).toBe(1);
      on.clock.jump(MINUTE);
      await on.list([aListedLead({ id: 1, service_slug: 'moving', client_name: 'Otherwise' })]);
      expect(await found('moving')).toBe(1);
    });

    it('a lead says how many of its sinks have its last delivery, without those for which it was skipped', async () => {
      const { on, queries } = await opened(store, 'crm', 'drop', 'gone');
      await on.list(ids(1, 3));
      await on.attemptAll('crm');
      await on.attemptAll('drop', refused, { max: 2 });
      await on.declare('crm', 'drop');
      await on.ledger.forget('gone');
      const progress = async () =>
        (await queries.ask('leads', {}, { limit: 10 })).rows.map(
          ({ lead, deliveredSinks, owedSinks }) => `${lead}: ${deliveredSinks} of ${owedSinks}`,
        );
      expect(await progress()).toEqual(['3: 1 of 2', '2: 1 of 2', '1: 1 of 2']);
      await on.ledger.replay('drop', { lead: 2n });
      await on.attemptAll('drop');
      expect(await progress()).toEqual(['3: 1 of 2', '2: 2 of 2', '1: 1 of 2']);
      await on.ledger.replay('crm', { lead: 2n }); // is owed again
      expect(await progress()).toEqual(['3: 1 of 2', '2: 1 of 2', '1: 1 of 2']);
    });

    it('leads are counted by any filter, up to a maximum', async () => {
      const { on, queries } = await opened(store);
      await on.list(ids(1, 4));
      const since = on.clock.now();
      on.clock.jump(HOUR);
      await on.list([5, 6].map(inService('plumbing')), 'other');
      await on.list(ids(2, 4));
      const counted = (search: object, most = 100) => queries.ask('countLeads', search, most);
      const count = async (search: object) => (await counted(search)).count;
      expect(await count({})).toBe(6);
      expect(await counted({}, 5)).toEqual({ count: 5, isAtLeast: true });
      expect(await counted({ service: 'plumbing' })).toEqual({ count: 2, isAtLeast: false });
      expect(await count({ source: 'main' })).toBe(4);
      expect(await count({ since: new Date(since.getTime() + 1) })).toBe(2);
      expect(await count({ until: new Date(since.getTime() + 1) })).toBe(4);
      expect(await count({ service: 'plumbing' })).toBe(2);
      expect(await count({ listing: 'gone' })).toBe(1);
      expect(await count({ listing: 'current', source: 'main' })).toBe(3);
      expect(await count({ lead: 5n })).toBe(1);
    });

    it('a lead comes with its versions, its deliveries and each attempt', async () => {
      const { on, queries } = await opened(store);
      await on.list([1]);
      await on.attemptAll('crm', refused);
      on.clock.jump(MINUTE);
      await on.list([aListedLead({ id: 1, client_name: 'Otherwise' })]);
      const history = await queries.ask('lead', 'main', 1n);
      expect(history?.lead).toMatchObject({
        source: 'main',
        lead: '1',
        service: 'house-cleaning',
        version: 2,
      });
      expect(history?.versions.map(({ version, changedFields }) => [version, changedFields])).toEqual([
        [2, ['client_name']],
        [1, null],
      ]);
      expect(history?.deliveries).toMatchObject([
        { sink: 'crm', state: 'pending', attemptRows: [] },
        { sink: 'crm', state: 'dead', attemptRows: [{ outcome: 'refused', httpStatus: 422, times: 1 }] },
      ]);
      expect(
        JSON.stringify(history, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
      ).not.toContain('Anna');
      expect(await queries.ask('lead', 'main', 2n)).toBeUndefined();
      expect((await queries.ask('content', 'main', 1n))?.raw).toContain('Otherwise');
      expect(await queries.ask('content', 'main', 1n, 2)).toMatchObject({
        version: 2,
        changedFields: ['client_name'],
        raw: expect.stringContaining('Otherwise'),
        rawBefore: expect.stringContaining('Anna'),
        answers: [],
      });
      const first = await queries.ask('content', 'main', 1n, 1);
      expect(first).toMatchObject({ version: 1, changedFields: null, rawBefore: null });
      expect(first?.raw).toContain('Anna');
      for (const version of [0, 3]) expect(await queries.ask('content', 'main', 1n, version)).toBeUndefined();
    });

    it("the answers of destinations come with a lead's content, newest first, and nowhere else", async () => {
      const { on, queries } = await opened(store);
      await on.list(ids(1, 2));
      await on.attemptAll('crm', { ...refused, answer: 'no agent for Anna' });
      on.clock.jump(MINUTE);
      await on.ledger.retry({ lead: 1n });
      await on.attemptAll('crm', { ...refused, answer: 'still none' });
      expect((await queries.ask('content', 'main', 1n))?.answers).toMatchObject([
        { sink: 'crm', outcome: 'refused', answer: 'still none' },
        { sink: 'crm', outcome: 'refused', answer: 'no agent for Anna' },
      ]);
      expect(
        JSON.stringify([await queries.ask('lead', 'main', 1n)], (_, value) =>
          typeof value === 'bigint' ? `${value}` : value,
        ),
      ).not.toContain('Anna');
    });

    it('the services of all leads are listed once each, in order, up to the requested number', async () => {
      const { on, queries } = await opened(store);
      const slugs = ['solar', 'cleaning', 'solar', 'painting', 'cleaning'];
      await on.list(slugs.map((service_slug, at) => aListedLead({ id: at + 1, service_slug }, at)));
      expect(await queries.ask('services', 10)).toEqual(['cleaning', 'painting', 'solar']);
      expect(await queries.ask('services', 2)).toEqual(['cleaning', 'painting']);
    });

    it('new leads are counted by hour, and their latency is measured without those of a first sync', async () => {
      const { on, queries } = await opened(store, 'crm', 'drop');
      await on.list([5]); // this lead existed before leadsync did
      on.clock.jump(MINUTE);
      const created_at = on.clock.now().toISOString();
      await on.list([5, ...ids(1, 4).map((id) => aListedLead({ id, created_at }))]);
      on.clock.jump(10_000);
      await on.attemptAll('crm', delivered);
      const hours = await queries.ask('newLeads', on.clock.now(), 48);
      expect(hours).toHaveLength(48);
      expect(hours.slice(0, -1).every(({ leads }) => leads === 0)).toBe(true);
      expect(hours.at(-1)?.leads).toBe(5);
      const [crm, drop] = await queries.ask('speed', on.clock.in(-HOUR));
      expect(crm).toMatchObject({ sink: 'crm', leads: 4, seenToDelivered: { p50: 10_000, p95: 10_000 } });
      expect(drop).toMatchObject({ sink: 'drop', leads: 0, seenToDelivered: undefined });
      expect(await queries.ask('speed', on.clock.in(HOUR))).toMatchObject([{ leads: 0 }, { leads: 0 }]);
    });

    /** Lists new leads of a source and delivers them. */
    const deliverNew = async (
      { on }: Awaited<ReturnType<typeof opened>>,
      source: string,
      leads: number[],
    ) => {
      await on.list(
        leads.map((id) => aNewLead(on, id)),
        source,
      );
      await on.attemptAll('crm', delivered, { max: 1_000 });
    };

    it('the speed of few new leads is measured by all of them, however many versions and imported leads there are', async () => {
      const scene = await opened(store);
      const { on, queries } = scene;
      await on.list([]);
      on.clock.jump(MINUTE);
      await deliverNew(scene, 'main', ids(1, 300));
      for (const client_name of ['A', 'B', 'C'])
        await on.list(ids(1, 300).map((id) => aListedLead({ id, client_name })));
      await on.list(ids(1, 1_200), 'other');
      expect(await queries.ask('speed', on.clock.in(-HOUR))).toMatchObject([{ sink: 'crm', leads: 300 }]);
      const { speed } =
        (await queries.ask('sinkActivity', 'crm', { now: on.clock.now(), periodMs: HOUR, stepMs: HOUR })) ??
        {};
      expect(speed).toMatchObject({ leads: 300 });
    });

    it('the speed of many new leads is measured by every n-th, in every source with the same step', async () => {
      const scene = await opened(store);
      const { on, queries } = scene;
      for (const source of ['main', 'other']) await on.list([], source);
      on.clock.jump(MINUTE);
      await deliverNew(scene, 'main', ids(1, 900));
      await deliverNew(scene, 'other', ids(1, 300));
      expect(await queries.ask('speed', on.clock.in(-HOUR))).toMatchObject([{ sink: 'crm', leads: 600 }]);
    });
  });
}
