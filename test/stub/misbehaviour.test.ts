import { afterEach, describe, expect, it } from 'vitest';
import {
  type ListingMisbehaviourName,
  type Stub,
  type StubOptions,
  startStub,
  type TokenFaultName,
} from './stub.ts';

let stub: Stub;

afterEach(() => stub.close());

async function start(options: StubOptions = {}): Promise<void> {
  stub = await startStub({ leads: 40, ...options });
}

async function askToken(fields: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${stub.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: stub.clientId,
      client_secret: stub.clientSecret,
      ...fields,
    }),
    ...(signal ? { signal } : {}),
  });
}

async function list(signal?: AbortSignal): Promise<Response> {
  const { access_token } = (await (await askToken()).json()) as { access_token: string };
  return fetch(`${stub.url}/api/v1/leads`, {
    headers: { authorization: `Bearer ${access_token}` },
    redirect: 'manual',
    ...(signal ? { signal } : {}),
  });
}

/** Reads a listing as strictly as a reader should. Throws if a reader should reject it. */
async function read(signal?: AbortSignal): Promise<unknown[]> {
  const answer = await list(signal);
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
  if (!answer.headers.get('content-type')?.startsWith('application/json')) throw new Error('not JSON');
  const text = new TextDecoder('utf-8', { fatal: true }).decode(await answer.arrayBuffer());
  const leads: unknown = JSON.parse(text);
  if (!Array.isArray(leads)) throw new Error('not an array');
  return leads;
}

const unreadable: ListingMisbehaviourName[] = [
  'truncated',
  'truncated-chunked',
  'cut-short',
  'no-final-bracket',
  'reset',
  'reset-midway',
  'html',
  'bad-gateway',
  'no-content',
  'unasked-not-modified',
  'empty-body',
  'wrong-content-type',
  'bad-utf8',
  'gzip-cut',
  'object',
  'trailing-text',
  'unauthorized',
  'forbidden',
  'not-found',
  'redirect',
  'rate-limited',
  'server-error',
  'unavailable',
];

describe("the stub's listing", () => {
  it.each(unreadable)(
    '%s: the listing cannot be read, is not recorded as served, and recovers after one request',
    async (listing) => {
      await start();
      stub.misbehave({ listing, times: 1 });
      await expect(read()).rejects.toThrow();
      expect(stub.served.ids()).toEqual([]);
      expect(await read()).toHaveLength(40);
      expect(stub.served.ids()).toHaveLength(40);
    },
  );

  it.each(['hang', 'hang-midway', 'trickle'] as const)(
    '%s: the answer does not end by itself',
    async (listing) => {
      await start();
      stub.misbehave({ listing });
      await expect(read(AbortSignal.timeout(300))).rejects.toThrow(/timeout|aborted/);
      expect(stub.served.ids()).toEqual([]);
    },
  );

  it('gzip-bomb: a few megabytes decompress to gigabytes', async () => {
    await start();
    stub.misbehave({ listing: 'gzip-bomb' });
    const answer = await list();
    let bytes = 0;
    for await (const chunk of answer.body ?? []) {
      bytes += chunk.length;
      if (bytes > 200_000_000) break;
    }
    expect(bytes).toBeGreaterThan(200_000_000);
  });

  it.each([
    ['bom', 40],
    ['slow', 40],
    ['empty', 0],
    ['shrunk', 20],
    ['shuffled', 40],
    ['reversed', 40],
    ['repeated-id', 41],
    ['repeated-id-changed', 41],
    ['odd-ids', 52],
  ] as const)('%s: the listing can be read and its leads are recorded as served', async (listing, length) => {
    await start();
    stub.misbehave({ listing, times: 1, delayMs: 50 });
    expect(await read()).toHaveLength(length);
    expect(stub.served.ids()).toHaveLength(Math.min(40, length));
  });

  it('repeated-id-changed: the stub records both contents', async () => {
    await start();
    stub.misbehave({ listing: 'repeated-id-changed', times: 1 });
    await read();
    expect(stub.served.versions(1)).toEqual([1, 2]);
  });

  it('broken and unusual leads come beside the good ones, with their own ids', async () => {
    await start();
    stub.misbehave({ listing: 'broken-leads', times: 1 });
    stub.misbehave({ listing: 'unusual-leads', times: 1 });
    const broken = await read();
    const unusual = await read();
    expect(broken.length).toBeGreaterThan(70);
    expect(unusual.length).toBeGreaterThan(50);
    expect(stub.served.raw()).toHaveLength(broken.length + unusual.length - 80);
  });

  it('huge-lead: one lead has 50 MB', async () => {
    await start();
    stub.misbehave({ listing: 'huge-lead' });
    expect((await (await list()).text()).length).toBeGreaterThan(52_000_000);
  });

  it('the Retry-After header has the requested value', async () => {
    await start();
    stub.misbehave({ listing: 'rate-limited', retryAfter: '7', times: 2 });
    stub.misbehave({ listing: 'unavailable' });
    const answers = [await list(), await list(), await list(), await list()];
    expect(answers.map(({ status }) => status)).toEqual([429, 429, 503, 503]);
    expect(answers[0]?.headers.get('retry-after')).toBe('7');
    stub.behave();
    expect((await list()).status).toBe(200);
  });
});

describe("the stub's token endpoint", () => {
  it.each([
    ['unauthorized', 401],
    ['bad-request', 400],
    ['invalid-grant', 400],
    ['rate-limited', 429],
    ['server-error', 500],
    ['unavailable', 503],
    ['bad-gateway', 502],
    ['html', 200],
    ['not-json', 200],
  ] as const satisfies readonly (readonly [TokenFaultName, number])[])(
    '%s: the endpoint answers %i',
    async (token, status) => {
      await start();
      stub.misbehave({ token, times: 1 });
      const answer = await askToken();
      expect(answer.status).toBe(status);
      expect((await askToken()).status).toBe(200);
    },
  );

  it.each([
    ['expires-missing', { expires_in: undefined }],
    ['expires-zero', { expires_in: 0 }],
    ['expires-text', { expires_in: '3600' }],
    ['expires-huge', { expires_in: 1e15 }],
    ['expires-null', { expires_in: null }],
    ['no-refresh-token', { refresh_token: undefined }],
    ['refresh-null', { refresh_token: null }],
    ['no-token-type', { token_type: undefined }],
    ['lower-case-bearer', { token_type: 'bearer' }],
    ['no-access-token', { access_token: undefined }],
  ] as const)('%s: the answer is correct except for this fault', async (token, fields) => {
    await start();
    stub.misbehave({ token });
    const answer = (await (await askToken()).json()) as Record<string, unknown>;
    for (const [name, value] of Object.entries(fields)) expect(answer[name]).toBe(value);
  });

  it.each(['hang', 'hang-midway'] as const)('%s: the answer does not end by itself', async (token) => {
    await start();
    stub.misbehave({ token });
    const answer = askToken({}, AbortSignal.timeout(300)).then((response) => response.text());
    await expect(answer).rejects.toThrow(/timeout|aborted/);
  });

  it('down: the stub resets the connection', async () => {
    await start();
    stub.misbehave({ token: 'down', times: 1 });
    await expect(askToken()).rejects.toThrow();
  });

  it('refresh-revoked: the stub refuses refresh tokens and still issues tokens to the client itself', async () => {
    await start();
    const { refresh_token } = (await (await askToken()).json()) as { refresh_token: string };
    stub.misbehave({ token: 'refresh-revoked' });
    expect((await askToken({ grant_type: 'refresh_token', refresh_token })).status).toBe(400);
    expect((await askToken()).status).toBe(200);
  });

  it('answer-lost: the old refresh token is used up although the new one never arrived', async () => {
    await start({ refreshRotation: 'at-once' });
    const { refresh_token } = (await (await askToken()).json()) as { refresh_token: string };
    stub.misbehave({ token: 'answer-lost', times: 1 });
    await expect(askToken({ grant_type: 'refresh_token', refresh_token })).rejects.toThrow();
    expect((await askToken({ grant_type: 'refresh_token', refresh_token })).status).toBe(400);
  });
});

describe("the stub's control endpoint", () => {
  it('the control endpoint offers the same controls from outside and explains a wrong request', async () => {
    await start();
    const post = async (command: string, body: unknown) => {
      const answer = await fetch(`${stub.url}/__stub/${command}`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: (await answer.json()) as { done?: unknown; error?: string } };
    };
    expect((await post('misbehave', { listing: 'server-error', times: 1 })).status).toBe(200);
    expect((await list()).status).toBe(500);
    expect((await post('add', { count: 2 })).body.done).toEqual([41, 42]);
    expect(await read()).toHaveLength(42);
    const wrong = await post('misbehave', { listing: 'unheard-of' });
    expect([wrong.status, wrong.body.error]).toEqual([400, expect.stringContaining('truncated')]);
    expect((await post('unheard-of', {})).status).toBe(404);
    const state = await (await fetch(`${stub.url}/__stub/state`)).json();
    expect(state).toMatchObject({ shown: 42, served: 42 });
  });
});
