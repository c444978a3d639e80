import { describe, expect, test } from 'vitest';
import { nextLink } from '../../src/source/listing/link-header.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { aSource, aStub, ask, failureOf, read } from './a-source.ts';
import { aRawService } from './raw-service.ts';

describe.each(['link', 'page'] as const)('with pagination: %s', (style) => {
  const options = { pagination: style };

  test.each([0, 1, 100, 101, 450])('%d leads in pages of 100 arrive as one listing', async (leads) => {
    const stub = await aStub({ leads, paging: { style, size: 100 } });
    const { ids, items, mark } = await read(aSource(stub, { options }).source);
    expect([...ids].sort((a, b) => a - b)).toEqual(stub.served.ids());
    expect(ids).toHaveLength(leads);
    expect(items.map(({ position }) => position)).toEqual([...ids.keys()]);
    expect(mark).toBeUndefined();
  });

  test('a repeated page is an error, not an endless loop', async () => {
    const stub = await aStub({ leads: 30, paging: { style, size: 10, stuck: true } });
    const { error, items } = await failureOf(aSource(stub, { options }).source);
    expect(error).toMatchObject({ code: 'protocol' });
    expect(error.message).toMatch(/^Page \d of the listing repeats page 1/);
    expect(items.length).toBeLessThanOrEqual(20);
    expect(stub.listingRequests).toBeLessThanOrEqual(3);
  });

  test('a token that expires between two pages is renewed once', async () => {
    const stub = await aStub({ leads: 30, paging: { style, size: 10 } });
    const { source } = aSource(stub, { options });
    const listing = await ask(source);
    if (listing.kind !== 'changed') return expect.fail();
    let count = 0;
    for await (const block of listing.blocks) {
      if (count === 0) stub.revoke('all');
      count += block.size;
    }
    expect(count).toBe(30);
  });

  test('a failed page fails the whole listing', async () => {
    const stub = await aStub({ leads: 30, paging: { style, size: 10 } });
    const { source } = aSource(stub, { options });
    const listing = await ask(source);
    stub.misbehave({ listing: 'server-error', times: 1 });
    let count = 0;
    await expect(async () => {
      if (listing.kind === 'changed') for await (const block of listing.blocks) count += block.size;
    }).rejects.toMatchObject({ code: 'server' });
    expect(count).toBe(10);
  });
});

test('without pagination, a Link header is not followed', async () => {
  const stub = await aStub({ leads: 30, paging: { style: 'link', size: 10 } });
  expect((await read(aSource(stub).source)).ids).toHaveLength(10);
});

test('the name of the page parameter is configurable, and the query of leads_path stays', async () => {
  const service = await aRawService((request, response) => {
    const page = new URL(request.url ?? '', 'http://localhost').searchParams.get('p');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(page === '1' ? `[${aLead()}]` : '[]');
  });
  const options = { pagination: 'page', page_parameter: 'p', leads_path: '/api/v1/leads?size=50' };
  expect((await read(aSource(service, { options }).source)).ids).toEqual([42]);
  expect(service.listingRequests.map(({ url }) => url)).toEqual([
    '/api/v1/leads?size=50&p=1',
    '/api/v1/leads?size=50&p=2',
  ]);
});

test.each([
  'http://127.0.0.1:1/api/v1/leads?page=2',
  '//evil.example/leads',
  'https://127.0.0.1/leads',
  'http://[bad',
])('the token is not sent to a link to %s', async (target) => {
  const service = await aRawService((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', link: `<${target}>; rel="next"` });
    response.end(`[${aLead()}]`);
  });
  const { error, items } = await failureOf(aSource(service, { options: { pagination: 'link' } }).source);
  expect(error).toMatchObject({ code: 'protocol' });
  expect(error.message).toBe('Page 1 of the listing links to a next page on another server.');
  expect(items).toHaveLength(1);
  expect(service.listingRequests).toHaveLength(1);
});

test.each([
  ['<https://a.example/?page=2>; rel="next"', 'https://a.example/?page=2'],
  ['<?page=2>;rel=next', '?page=2'],
  ['<?page=1>; rel="first", <?page=2>; rel="next", <?page=9>; rel="last"', '?page=2'],
  ['<?page=2,3;a>; title="a, <b>; rel=\\"next\\""; rel="next"', '?page=2,3;a'],
  ['<?page=2>; REL="prefetch NEXT"', '?page=2'],
  ['<?page=1> ; rel="prev" , <?page=2> ; foo ; rel = "next"', '?page=2'],
  ['<?page=3>; rel="last"; rel="next"', undefined], // only the first rel counts
  ['<?page=3>; title="next"', undefined],
  ['<?page=3>; rel="nextish"', undefined],
  ['?page=2; rel="next"', undefined],
  ['', undefined],
  [null, undefined],
])('the next page in %j is %j', (header, next) => {
  expect(nextLink(header)).toBe(next);
});
