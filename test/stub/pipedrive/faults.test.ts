import { describe, expect, it } from 'vitest';
import { allTables } from './answers.ts';
import { aPerson, aStub, type Call, call } from './call.ts';
import type { FaultName } from './faults.ts';
import type { PipedriveStub } from './pipedrive-stub.ts';
import type { RouteName } from './routes.ts';

const creations = ['POST /persons', 'POST /leads', 'POST /deals', 'POST /notes'] as const;

/** A request that succeeds, for the person with the id. */
const bodies: Record<(typeof creations)[number], (person_id: number) => object> = {
  'POST /persons': () => ({ name: 'Ada' }),
  'POST /leads': (person_id) => ({ title: 'Enquiry', person_id }),
  'POST /deals': (person_id) => ({ title: 'Enquiry', person_id }),
  'POST /notes': (person_id) => ({ content: 'Hello', person_id }),
};

function countOf({ records }: PipedriveStub): number {
  return Object.values(records).reduce((sum, kept) => sum + kept.length, 0);
}

describe.each(creations)('%s', (at) => {
  it.each([
    ['cut', 0],
    ['cut-after-storing', 1],
    ['half', 0],
    ['half-after-storing', 1],
  ] as const)('%s ends the connection with %i records stored', async (fault, stored) => {
    const stub = await aStub();
    const body = bodies[at](await aPerson(stub));
    stub.misbehave({ at, fault, times: 1 });
    await expect(call(stub, at, { body })).rejects.toThrow(TypeError);
    expect(countOf(stub)).toBe(1 + stored);
    expect(stub.requests.at(-1)).toMatchObject({ route: at, body, status: undefined });
    expect((await call(stub, at, { body })).status).toBeLessThan(300);
  });

  it.each([
    ['nothing', 200],
    ['no-data', 200],
    ['no-success', 200],
    ['html', 200],
    ['server-error', 500],
    ['bad-gateway', 502],
    ['unavailable', 503],
    ['too-many-requests', 429],
    ['tokens-used-up', 429],
    ['cloudflare', 403],
  ] as const)('%s answers %i, and stores only by name', async (fault, status) => {
    const stub = await aStub();
    const body = bodies[at](await aPerson(stub));
    const faults: FaultName[] = [fault, `${fault}-after-storing`];
    for (const [stored, name] of faults.entries()) {
      stub.misbehave({ at, fault: name, times: 1 });
      const answer = await call(stub, at, { body });
      expect([answer.status, answer.data ?? undefined]).toEqual([status, undefined]);
      expect(countOf(stub)).toBe(1 + stored);
    }
  });
});

describe('misbehaviour', () => {
  it('hits the operation that it names, as often as it says', async () => {
    const stub = await aStub();
    stub.misbehave({ at: 'GET /users', fault: 'unavailable', times: 2 });
    const status = async (name: RouteName) => (await call(stub, name)).status;
    expect(await status('GET /users/me')).toBe(200);
    expect([await status('GET /users'), await status('GET /users'), await status('GET /users')]).toEqual([
      503, 503, 200,
    ]);
  });

  it('without an operation hits every one, until the stub behaves', async () => {
    const stub = await aStub();
    stub.misbehave({ fault: 'html' });
    expect((await call(stub, 'GET /leads')).text).toContain('<!doctype html>');
    expect((await call(stub, 'GET /users')).json).toBeUndefined();
    stub.behave();
    expect((await call(stub, 'GET /users')).data).toHaveLength(3);
  });

  it.each([
    ['late', 1],
    ['late-storing', 0],
  ] as const)('%s waits for the test, with %i records stored meanwhile', async (fault, stored) => {
    const stub = await aStub();
    const gate = Promise.withResolvers<void>();
    stub.misbehave({ at: 'POST /persons', fault, times: 1, until: gate.promise });
    const answered = call(stub, 'POST /persons', { body: { name: 'Ada' } });
    await expect.poll(() => stub.requests.length).toBe(1);
    expect(stub.records.persons).toHaveLength(stored);
    gate.resolve();
    expect((await answered).data.name).toBe('Ada');
    expect(stub.records.persons).toHaveLength(1);
  });

  it.each([
    ['silent', 0],
    ['silent-after-storing', 1],
  ] as const)('%s never answers, with %i records stored', async (fault, stored) => {
    const stub = await aStub();
    stub.misbehave({ fault });
    const patience = new AbortController();
    const answered = call(stub, 'POST /persons', { body: { name: 'Ada' }, signal: patience.signal });
    await expect.poll(() => stub.requests.length).toBe(1);
    patience.abort();
    await expect(answered).rejects.toThrow('aborted');
    expect(stub.records.persons).toHaveLength(stored);
    expect(stub.requests[0]?.status).toBeUndefined();
  });
});

describe('answers of the outcome tables', () => {
  it.each(allTables.flatMap((row) => row.at.map((at) => ({ ...row, at }))))(
    '$at: $what',
    async ({ at, answer }) => {
      const stub = await aStub();
      stub.answerNext(at, answer);
      const request: Call = { id: 1, query: { term: 'ada' }, ...(at.startsWith('GET') ? {} : { body: {} }) };
      const { status, headers, text, json } = await call(stub, at, request);
      expect(status).toBe(answer.status);
      for (const [name, value] of Object.entries(answer.headers ?? {})) expect(headers.get(name)).toBe(value);
      if (typeof answer.body === 'object') expect(json).toEqual(answer.body);
      else expect(text).toBe(answer.body ?? '');
      expect(countOf(stub)).toBe(0);
    },
  );

  it('an answer stores only if it says so', async () => {
    const stub = await aStub();
    const gone = { status: 500, stores: true };
    stub.answerNext('POST /persons', gone, { status: 500 });
    await call(stub, 'POST /persons', { body: { name: 'Ada' } });
    await call(stub, 'POST /persons', { body: { name: 'Ada' } });
    expect(stub.records.persons).toHaveLength(1);
  });
});
