import { describe, expect, it } from 'vitest';
import { HeldClock } from '../../support/time/held-clock.ts';
import { aStub, call } from './call.ts';
import type { PipedriveStub, PipedriveStubOptions } from './pipedrive-stub.ts';
import type { RouteName } from './routes.ts';

async function aLimited(limits: Partial<PipedriveStubOptions['limits']> = {}, start?: string) {
  const clock = new HeldClock(start);
  return { clock, stub: await aStub({ clock, limits: { plan: 'lite', ...limits } }) };
}

async function statuses(stub: PipedriveStub, name: RouteName, times: number): Promise<number[]> {
  const all: number[] = [];
  for (let at = 0; at < times; at += 1) all.push((await call(stub, name, { query: { term: 'ada' } })).status);
  return all;
}

describe('the burst limit', () => {
  it.each([
    ['lite', 20],
    ['growth', 40],
    ['premium', 100],
    ['ultimate', 120],
  ] as const)('of the plan %s is %i requests in 2 s', async (plan, limit) => {
    const { stub, clock } = await aLimited({ plan });
    const taken = await statuses(stub, 'GET /users/me', limit);
    expect(taken).toEqual(Array(limit).fill(200));
    clock.jump(500);
    const { status, headers } = await call(stub, 'GET /users/me');
    expect([status, headers.get('x-ratelimit-limit')]).toEqual([429, String(limit)]);
    expect([headers.get('x-ratelimit-remaining'), headers.get('x-ratelimit-reset')]).toEqual(['0', '2']);
    clock.jump(1_499);
    expect((await call(stub, 'GET /users/me')).status).toBe(429);
    clock.jump(1);
    expect((await call(stub, 'GET /users/me')).headers.get('x-ratelimit-remaining')).toBe(String(limit - 1));
  });

  it('of the search is 10 in 2 s on every plan', async () => {
    const { stub } = await aLimited({ plan: 'ultimate' });
    expect(await statuses(stub, 'GET /persons/search', 11)).toEqual([...Array(10).fill(200), 429]);
    expect(await statuses(stub, 'GET /users/me', 1)).toEqual([200]);
  });

  it('is off without the option', async () => {
    const stub = await aStub();
    const { headers } = await call(stub, 'GET /users/me');
    expect([headers.get('x-ratelimit-limit'), stub.limits]).toEqual([null, undefined]);
    expect(new Set(await statuses(stub, 'GET /users/me', 30))).toEqual(new Set([200]));
  });

  it('refused requests cost nothing, and carry Retry-After only by option', async () => {
    const { stub } = await aLimited({ retryAfter: true });
    await statuses(stub, 'GET /users/me', 20);
    const before = stub.limits?.tokensLeft;
    expect((await call(stub, 'POST /persons', { body: { name: 'A' } })).headers.get('retry-after')).toBe('2');
    expect(stub.limits?.tokensLeft).toBe(before);
    expect(stub.records.persons).toEqual([]);
  });
});

describe('the daily API tokens', () => {
  it('a new lead with search costs 35 of 30,000', async () => {
    const { stub } = await aLimited();
    await call(stub, 'GET /persons/search', { query: { term: 'ada' } });
    const person = await call(stub, 'POST /persons', { body: { name: 'Ada' } });
    const lead = await call(stub, 'POST /leads', { body: { title: 'A', person_id: person.data.id } });
    expect(lead.headers.get('x-daily-ratelimit-token-limit')).toBe('30000');
    expect(lead.headers.get('x-daily-ratelimit-token-remaining')).toBe('29965');
    expect(stub.limits).toEqual({ tokensLimit: 30_000, tokensLeft: 29_965 });
  });

  it.each([
    [{ plan: 'growth', seats: 3 }, 180_000],
    [{ plan: 'premium' }, 150_000],
    [{ plan: 'ultimate', seats: 2 }, 420_000],
  ] as const)('of %j are %i', async (limits, tokensLimit) => {
    expect((await aLimited(limits)).stub.limits?.tokensLimit).toBe(tokensLimit);
  });

  it('once used up, every request gets 429 until midnight UTC', async () => {
    const { stub, clock } = await aLimited({}, '2026-11-20T23:00:00Z');
    stub.useUpTokens(3);
    expect((await call(stub, 'POST /persons', { body: { name: 'A' } })).status).toBe(200);
    const { status, headers } = await call(stub, 'GET /users/me');
    expect([status, headers.get('x-daily-ratelimit-token-remaining')]).toEqual([429, '0']);
    clock.jump(3_600_000);
    expect((await call(stub, 'GET /users/me')).headers.get('x-daily-ratelimit-token-remaining')).toBe(
      '29998',
    );
  });

  it('their headers may be missing', async () => {
    const { stub } = await aLimited({ dailyHeaders: false });
    stub.useUpTokens();
    const { status, headers } = await call(stub, 'GET /users/me');
    expect([status, headers.get('x-daily-ratelimit-token-remaining')]).toEqual([429, null]);
    expect(headers.get('x-ratelimit-remaining')).toBe('20');
  });
});

describe('Cloudflare', () => {
  it('blocks a client that keeps on after 429, with a page, for an hour', async () => {
    const { stub, clock } = await aLimited({ blockAfter: 3 });
    stub.useUpTokens();
    expect(await statuses(stub, 'GET /users/me', 4)).toEqual([429, 429, 429, 403]);
    const { headers, text } = await call(stub, 'GET /users/me');
    expect(headers.get('content-type')).toBe('text/html; charset=UTF-8');
    expect(text).toContain('This error is produced by Cloudflare.');
    clock.jump(3_599_999);
    expect(await statuses(stub, 'GET /users/me', 1)).toEqual([403]);
    clock.jump(1);
    expect(await statuses(stub, 'GET /users/me', 1)).toEqual([429]);
  });

  it('leaves a client alone that waits after each 429', async () => {
    const { stub, clock } = await aLimited({ blockAfter: 1 });
    for (let round = 0; round < 5; round += 1) {
      expect((await statuses(stub, 'GET /persons/search', 11)).at(-1)).toBe(429);
      clock.jump(2_000);
    }
  });
});
