import { afterEach, beforeEach, expect, test } from 'vitest';
import { RequestError } from '../../../src/admin/contract/request-error.ts';
import { cellsOf } from './cells-of.ts';
import { type OpenPages, openPages } from './open-pages.ts';

let pages: OpenPages;
beforeEach(async () => {
  pages = await openPages();
});
afterEach(() => pages.close());

async function textOf(path: string): Promise<string> {
  return (await fetch(`${pages.url}${path}`)).text();
}

/** Returns the links to the views: text and address. */
function viewsOf(html: string): readonly (readonly [text: string, address: string])[] {
  const [nav = ''] = /<nav class="periods".*?<\/nav>/s.exec(html) ?? [];
  return [...nav.matchAll(/href="([^"]*)"[^>]*>([^<]*)</g)].map(([, address = '', text = '']) => [
    text,
    address.replaceAll('&amp;', '&'),
  ]);
}

test('a delivery has the status and the duration of its last attempt, and when it was settled or what it waits for', async () => {
  const html = await textOf('/deliveries');
  const { deliveryRows: rows } = pages.operations;
  const of = (state: string) =>
    cellsOf(html, `delivery-${rows.find((row) => row.state === state)?.delivery_id}`);
  expect(of('dead')).toMatchObject({ 'HTTP status': '422', Duration: '46 ms' });
  expect(of('dead')['Settled or next']).toContain('21 Nov');
  expect(of('pending')).toMatchObject({ 'HTTP status': '–', Duration: '3 s' });
  expect(of('pending')['Settled or next']).toContain('waits: sink is held');
});

test('the views count what they show: they keep the rest of the filter, and count removed sinks', async () => {
  const { operations } = pages;
  const [first] = operations.deliveryRows;
  if (!first) throw new Error('the world has deliveries');
  operations.deliveryRows = [
    ...operations.deliveryRows,
    { ...first, delivery_id: 'gone:main:1:1:0', sink: 'gone', state: 'dead' },
  ];
  for (const query of ['', '?sink=crm', '?sink=gone&source=main', '?sink=warehouse&since=2026-11-21']) {
    for (const [text, address] of viewsOf(await textOf(`/deliveries${query}`))) {
      const shown = await textOf(address);
      const all = /<span>(?:At least )?([\d,]+) deliver/.exec(shown)?.[1] ?? '0';
      const [, count = all] = /([\d,]+)$/.exec(text) ?? [];
      expect(count, `${query} ${text}`).toBe(all);
      for (const [name, value] of new URLSearchParams(query))
        expect(new URL(address, pages.url).searchParams.get(name)).toBe(value);
    }
  }
  expect(viewsOf(await textOf('/deliveries?sink=gone')).map(([text]) => text)).toEqual([
    'All',
    'Undelivered 1',
    'Dead 1',
  ]);
});

test('a reason that all rows have is shown once, with their number', async () => {
  const html = await textOf('/deliveries?state=dead');
  const reason = 'https://crm.example.com refused the lead (HTTP 422).';
  expect(html).toMatch(
    /Reason of all 3 deliveries on this page: <bdi>https:\/\/crm\.example\.com refused the lead \(HTTP 422\)\./,
  );
  expect(html.split(reason)).toHaveLength(2);
  expect(html).not.toContain('data-label="Reason"');
  expect(html.match(/>Answer…</g)).toHaveLength(3);
  const [dead] = pages.operations.deliveryRows.filter(({ state }) => state === 'dead');
  Object.assign(dead ?? {}, { reason: 'It is on fire.' });
  const mixed = await textOf('/deliveries?state=dead');
  expect(mixed).not.toContain('Reason of all');
  expect(cellsOf(mixed, `delivery-${dead?.delivery_id}`)['Reason']).toContain('It is on fire.');
});

test('the page of an unknown batch says how far leadsync searched', async () => {
  pages.operations.failure = undefined;
  pages.operations.deliveries = async () => {
    throw new RequestError(404, 'unknown-batch', 'It is not among the last ones.', 'Search for an `id`.');
  };
  const html = await textOf(`/deliveries?webhook_id=batch_${'0'.repeat(32)}`);
  expect(html).toContain('It is not among the last ones. Search for an');
  expect(html).toContain('filter-webhook_id');
  expect(viewsOf(html)).toEqual([]);
});
