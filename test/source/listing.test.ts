import { randomBytes } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { SourceErrorCode } from '../../src/source/contract/source.ts';
import type { ListingMisbehaviourName } from '../stub/stub.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { aSource, aStub, ask, failureOf, read } from './a-source.ts';
import { aRawService, sends } from './raw-service.ts';

describe('reading a listing', () => {
  test.each([
    { transfer: 'length' },
    { transfer: 'chunked' },
    { gzip: true },
    { doorkeeper: true },
    { doorkeeper: true, gzip: true },
  ] as const)('the source reads every lead, in order, from a service with %j', async (options) => {
    const stub = await aStub({ leads: 500, firstId: 1000, ...options });
    const { ids, items } = await read(aSource(stub).source);
    expect(new Set(ids).size).toBe(500);
    expect(items.map(({ position }) => position)).toEqual([...ids.keys()]);
    expect([...ids].sort((a, b) => a - b)).toEqual(stub.served.ids());
  });

  test('blocks are small enough for one commit: at most 400 leads, or about 384 KB', async () => {
    const sizes = await blockSizes(await aStub({ leads: 2_000 }));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(400);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2_000);
    expect(sizes.length).toBeLessThan(40);
    const large = Array.from({ length: 5 }, (_, id) =>
      aLead({ id: id + 1, client_name: 'x'.repeat(200_000) }),
    );
    expect(await blockSizes(await aRawService(sends(`[${large.join(',')}]`)))).toEqual([2, 2, 1]);
  });

  test('an empty listing has no leads', async () => {
    expect(await read(aSource(await aRawService(sends(' [ ] '))).source)).toMatchObject({
      kind: 'changed',
      ids: [],
    });
  });

  test.each(['stands still', 'trickles'])(
    'the source returns the first leads of a listing that %s before its end',
    async (how) => {
      let end = () => {};
      const service = await aRawService((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(`[${aLead({ id: 1 })},${aLead({ id: 2 })}`);
        const trickle = setInterval(() => response.write(how === 'trickles' ? ' ' : ''), 20);
        end = () => {
          clearInterval(trickle);
          response.end(`,${aLead({ id: 3 })}]`);
        };
      });
      const { source } = aSource(service, { options: { timeout: '20s' } });
      const blocks: number[][] = [];
      for (let poll = 0; poll < 2; poll++) {
        const listing = await ask(source);
        if (listing.kind !== 'changed') return expect.fail();
        for await (const block of listing.blocks) {
          blocks.push(block.elements().map(({ id }) => Number(id)));
          end();
        }
      }
      expect(blocks).toEqual([[1, 2], [3], [1, 2], [3]]);
    },
  );

  test('the reader can stop during a pause, which closes the connection', async () => {
    const service = await aRawService((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(`[${aLead()},`);
    });
    const listing = await ask(aSource(service, { options: { timeout: '1h' } }).source);
    if (listing.kind !== 'changed') return expect.fail();
    for await (const block of listing.blocks) {
      expect(block.size).toBe(1);
      break;
    }
    await until('the connection is closed', () => service.connections <= 1); // the token's connection may be kept
  });

  test('the source skips a byte-order mark', async () => {
    const body = `\ufeff[${aLead()}]`;
    expect((await read(aSource(await aRawService(sends(body))).source)).ids).toEqual([42]);
  });

  test('the request follows the description', async () => {
    const service = await aRawService(sends('[]'));
    await read(aSource(service).source);
    const [request] = service.listingRequests;
    expect(request).toMatchObject({ method: 'GET', url: '/api/v1/leads' });
    expect(request?.headers).toMatchObject({ authorization: 'Bearer t', accept: 'application/json' });
    expect(request?.headers['user-agent']).toMatch(/^leadsync\/\d/);
  });

  test('the source opens no connection before the first request', async () => {
    const service = await aRawService(sends('[]'));
    aSource(service);
    expect(service.connections).toBe(0);
  });

  test('the source does not read ahead of a slow reader, and stopping early closes the connection', async () => {
    let written = 0;
    const service = await aRawService((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('[');
      const part = Buffer.from(`${aLead({ client_name: 'x'.repeat(60_000) })},`);
      const go = () => {
        while (!response.destroyed && response.write(part)) written += part.length;
        written += part.length;
      };
      response.on('drain', go);
      go();
    });
    const listing = await ask(aSource(service).source);
    if (listing.kind !== 'changed') return expect.fail();
    for await (const block of listing.blocks) {
      expect(block.size).toBeGreaterThan(0);
      break;
    }
    await until('the connection is closed', () => service.connections <= 1); // the token's connection may be kept
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });

  test('a lead that breaks the description is rejected, and reading continues', async () => {
    const stub = await aStub({ leads: 3 });
    stub.addRaw('{"id":9000001}');
    stub.addRaw('7');
    const { items } = await read(aSource(stub).source);
    expect(items.map(({ kind }) => kind).sort()).toEqual(['lead', 'lead', 'lead', 'rejected', 'rejected']);
  });

  test('a lead larger than max_lead_size is rejected, even as a gzip bomb, and reading continues', async () => {
    const bomb = Buffer.concat([
      Buffer.from(`[${aLead({ id: 1 })},{"id":2,"client_name":"`),
      Buffer.alloc(64 * 1024 * 1024, 'x'),
      Buffer.from(`"},${aLead({ id: 3 })}]`),
    ]);
    const service = await aRawService(sends(gzipSync(bomb), { 'content-encoding': 'gzip' }));
    const { items } = await read(aSource(service, { options: { max_lead_size: '1mb' } }).source);
    expect(items).toMatchObject([{ id: 1n }, { kind: 'rejected', id: 2n }, { id: 3n }]);
    expect(items[1]?.raw.length).toBe(64 * 1024);
  });
});

describe('a faulty listing', () => {
  const cases: readonly (readonly [ListingMisbehaviourName, SourceErrorCode, number | undefined])[] = [
    ['truncated', 'incomplete', undefined],
    ['truncated-chunked', 'incomplete', undefined],
    ['cut-short', 'incomplete', undefined],
    ['no-final-bracket', 'incomplete', undefined],
    ['reset', 'unreachable', undefined],
    ['reset-midway', 'incomplete', undefined],
    ['html', 'protocol', 200],
    ['no-content', 'protocol', 204],
    ['unasked-not-modified', 'protocol', 304],
    ['empty-body', 'incomplete', undefined],
    ['wrong-content-type', 'protocol', 200],
    ['gzip-cut', 'incomplete', undefined],
    ['object', 'protocol', undefined],
    ['trailing-text', 'protocol', undefined],
    ['unauthorized', 'unauthorized', 401],
    ['forbidden', 'forbidden', 403],
    ['not-found', 'protocol', 404],
    ['redirect', 'protocol', 302],
    ['server-error', 'server', 500],
    ['bad-gateway', 'server', 502],
  ];

  test.each(cases)('%s is reported as: %s', async (listing, code, httpStatus) => {
    const stub = await aStub({ leads: 600 });
    stub.misbehave({ listing });
    const { source } = aSource(stub);
    const { error } = await failureOf(source);
    expect(error).toMatchObject({ code, httpStatus });
    expect(error.hint).not.toBe('');
    stub.behave();
    expect((await read(source)).ids).toHaveLength(600);
  });

  test('a listing is read to its end although one lead is not UTF-8', async () => {
    const stub = await aStub({ leads: 600 });
    stub.misbehave({ listing: 'bad-utf8' });
    const { items } = await read(aSource(stub).source);
    expect(items).toHaveLength(600);
    expect(items.filter(({ kind }) => kind === 'rejected')).toMatchObject([{ reason: 'is not valid UTF-8' }]);
  });

  test('the source returns the leads that came before the listing broke off', async () => {
    const stub = await aStub({ leads: 600 });
    for (const listing of [
      'truncated',
      'truncated-chunked',
      'reset-midway',
      'gzip-cut',
      'trailing-text',
    ] as const) {
      stub.misbehave({ listing, times: 1 });
      const { items } = await failureOf(aSource(stub).source);
      expect(items.length, listing).toBeGreaterThan(0);
    }
  });

  test('the source follows no redirect', async () => {
    const stub = await aStub({ leads: 1 });
    stub.misbehave({ listing: 'redirect' });
    await failureOf(aSource(stub).source);
    expect(stub.requests.filter(({ path }) => path.includes('from=redirect'))).toEqual([]);
  });

  test.each([
    ['rate-limited', '7', 7_000],
    ['unavailable', 'Fri, 20 Nov 2026 10:01:00 GMT', 60_000],
    ['unavailable', 'Fri, 20 Nov 2026 09:00:00 GMT', 0],
    ['unavailable', 'soon', undefined],
  ] as const)('%s with Retry-After: %s sets the wait', async (listing, retryAfter, ms) => {
    const clock = new HeldClock('2026-11-20T10:00:00.000Z');
    const stub = await aStub({ now: () => clock.now() });
    stub.misbehave({ listing, retryAfter });
    expect((await failureOf(aSource(stub, { clock }).source)).error.retryAfterMs).toBe(ms);
  });

  test('a listing that hangs, before or during its body, fails after the timeout', async () => {
    const stub = await aStub({ leads: 600 });
    const { source } = aSource(stub, { options: { timeout: '300ms' } });
    stub.misbehave({ listing: 'hang', times: 1 });
    expect((await failureOf(source)).error).toMatchObject({ code: 'unreachable' });
    stub.misbehave({ listing: 'hang-midway', times: 1 });
    const { error, items } = await failureOf(source);
    expect(error.code).toBe('incomplete');
    expect(items.length).toBeGreaterThan(0);
  });

  test('a listing that trickles in fails at the deadline for the whole', async () => {
    const stub = await aStub({ leads: 600 });
    stub.misbehave({ listing: 'trickle', delayMs: 20 });
    const clock = new HeldClock();
    const { source } = aSource(stub, { clock, options: { deadline: '10m' } });
    const failure = failureOf(source);
    await until('the listing is requested', () => stub.listingRequests === 1);
    await clock.pass(600_000);
    expect((await failure).error).toMatchObject({
      code: 'incomplete',
      message: 'leadsync could not read the whole listing in 600 s.',
    });
  });

  test('stopping ends reading immediately, whatever it waits for', async () => {
    const stub = await aStub({ leads: 600 });
    for (const listing of ['hang', 'hang-midway', 'trickle'] as const) {
      stub.misbehave({ listing, times: 1 });
      const { source } = aSource(stub, { options: { timeout: '1h' } });
      const stop = new AbortController();
      const before = stub.listingRequests;
      const reading = (async () => {
        const result = await source.list(undefined, stop.signal);
        if (result.kind === 'changed') for await (const block of result.blocks) expect(block).toBeDefined();
      })();
      await until('the listing is requested', () => stub.listingRequests > before);
      stop.abort();
      await expect(reading).rejects.toMatchObject({ name: 'SourceError', code: 'incomplete' });
    }
  });

  test('an unreachable service is reported in a plain sentence', async () => {
    const stub = await aStub();
    const { source } = aSource(stub);
    await read(source);
    await stub.close();
    const { error } = await failureOf(source);
    expect(error).toMatchObject({ code: 'unreachable' });
    expect(error.message).toMatch(/^The listing cannot be reached: 127\.0\.0\.1:\d+ refuses the connection/);
  });

  test('a server that speaks another protocol is reported as such', async () => {
    const service = await aRawService(({ socket }) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    const { error } = await failureOf(aSource(service).source);
    expect(error).toMatchObject({ code: 'unreachable' });
    expect(error.message).toMatch(/127\.0\.0\.1:\d+ does not answer in HTTP\.$/);
  });

  test('Brotli is read, and a truncated Brotli body is not accepted as complete', async () => {
    const zipped = brotliCompressSync(`[${aLead({ id: 1 })},${aLead({ id: 2 })}]`);
    const coding = { 'content-encoding': 'br' };
    expect((await read(aSource(await aRawService(sends(zipped, coding))).source)).ids).toEqual([1, 2]);
    const cut = zipped.subarray(0, zipped.length - 20);
    const { error } = await failureOf(aSource(await aRawService(sends(cut, coding))).source);
    expect(error.code).toBe('incomplete');
  });

  test('a body that claims to be gzip and is not is a fault of the service', async () => {
    const service = await aRawService(sends(randomBytes(500), { 'content-encoding': 'gzip' }));
    expect((await failureOf(aSource(service).source)).error.code).toBe('protocol');
  });
});

describe('the same listing again', () => {
  test('the listing is recognised by its tag, verbatim, and not sent', async () => {
    const stub = await aStub({ leads: 20, doorkeeper: true });
    const { source } = aSource(stub);
    const { mark } = await read(source);
    expect(mark?.etag).toMatch(/^W\//);
    expect(await read(source, mark)).toMatchObject({ kind: 'unchanged', bytes: 0 });
    expect(stub.requests.at(-1)).toMatchObject({ status: 304 });
    stub.addLeads(1);
    expect((await read(source, mark)).ids).toHaveLength(21);
  });

  test('the listing is read completely every hour, whatever its tag, even if each poll is a separate process', async () => {
    const clock = new HeldClock();
    const stub = await aStub({ leads: 5, etag: 'strong' });
    let { mark } = await read(aSource(stub, { clock }).source);
    const statuses: (number | undefined)[] = [];
    for (let minute = 0; minute < 130; minute += 10) {
      await clock.pass(10 * 60_000);
      mark = (await read(aSource(stub, { clock }).source, mark)).mark ?? mark;
      statuses.push(stub.requests.at(-1)?.status);
    }
    expect(statuses.flatMap((status, at) => (status === 200 ? at : []))).toEqual([5, 11]);
  });

  test('the listing is read completely after the clock was set back by far', async () => {
    const clock = new HeldClock();
    const stub = await aStub({ leads: 5, etag: 'strong' });
    const { mark } = await read(aSource(stub, { clock }).source);
    clock.setBack(2 * 3_600_000);
    await read(aSource(stub, { clock }).source, mark);
    expect(stub.requests.at(-1)).toMatchObject({ status: 200 });
  });

  test("the listing's marker contains its tag", async () => {
    const service = await aRawService(sends(`[${aLead()}]`, { etag: '"a"' }));
    expect((await read(aSource(service).source)).mark).toEqual({
      url: `${service.url}/api/v1/leads`,
      etag: '"a"',
      readAt: expect.closeTo(Date.now(), -5),
      maxLeadSize: 8 * 1024 ** 2,
    });
  });

  test('the listing is read completely once after max_lead_size was changed, because a rejected lead may be readable now', async () => {
    const stub = await aStub({ leads: 5, etag: 'strong' });
    const { mark } = await read(aSource(stub).source);
    const options = { max_lead_size: '16MB' };
    const again = await read(aSource(stub, { options }).source, mark);
    expect(stub.requests.at(-1)).toMatchObject({ status: 200 });
    await read(aSource(stub, { options }).source, again.mark);
    expect(stub.requests.at(-1)).toMatchObject({ status: 304 });
  });

  test('the marker of another address is not used', async () => {
    const stub = await aStub({ leads: 5, etag: 'strong' });
    const { source } = aSource(stub);
    const { mark } = await read(source);
    expect(mark).toBeDefined();
    expect(await read(source, mark && { ...mark, url: 'http://127.0.0.1:1/api/v1/leads' })).toMatchObject({
      kind: 'changed',
    });
    expect(stub.requests.at(-1)?.headers['if-none-match']).toBeUndefined();
  });

  test('a listing that was not read to its end leaves no marker', async () => {
    const listing = await ask(aSource(await aStub({ leads: 600 })).source);
    if (listing.kind !== 'changed') return expect.fail();
    for await (const block of listing.blocks) {
      expect(block.size).toBeLessThan(600);
      break;
    }
    expect(listing.end().mark).toBeUndefined();
  });
});

async function blockSizes(service: Parameters<typeof aSource>[0]): Promise<number[]> {
  const listing = await ask(aSource(service).source);
  const sizes: number[] = [];
  if (listing.kind === 'changed') for await (const block of listing.blocks) sizes.push(block.size);
  return sizes;
}
