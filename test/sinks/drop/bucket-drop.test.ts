import { describe, expect, test } from 'vitest';
import type { Sink, StoredLead } from '../../../src/sinks/sink.ts';
import { LeaseOver, SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { anAnsweringStorage } from '../../exports/answering-storage.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import {
  type Answer,
  type Answers,
  type Asked,
  isListing,
  isObject,
  type StorageServer,
} from '../../support/servers/storage-server.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { openInBucket, PREFIX } from './open-in-bucket.ts';

const NEVER = new AbortController().signal;
const KEY = `${PREFIX}leads-20261120T100001.000Z-b0000000000000001.csv`;

const code = (name: string) => `<Error><Code>${name}</Code><Message>canary-message</Message></Error>`;
const isPut = ({ method }: Asked) => method === 'PUT';
const isStart = ({ method, query }: Asked) => method === 'POST' && query.has('uploads');
const puts = ({ asked }: StorageServer) => asked.filter(isPut);

async function failureOf(work: Promise<unknown>): Promise<SinkUnavailable> {
  const failure = await work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(SinkUnavailable);
  return failure as SinkUnavailable;
}

async function isDelivered(work: ReturnType<Sink['deliver']>): Promise<void> {
  expect((await work).map(({ kind }) => kind)).toEqual(['delivered', 'delivered']);
}

/** What a sink writes for a batch of two leads. */
const whole = Buffer.from(openInBucket('csv', { options: {} }).preview(aBatch(2))[0]?.content ?? '');

describe('an object', () => {
  test('is sent in one request, which creates it and replaces nothing', async () => {
    const storage = await anAnsweringStorage();
    await isDelivered(openInBucket('csv', storage).deliver(aBatch(2), NEVER));
    expect([...storage.objects.keys()]).toEqual([KEY]);
    expect(storage.asked.map(({ method, key, headers }) => [method, key, headers['if-none-match']])).toEqual([
      ['PUT', KEY, '*'],
    ]);
  });

  test('has the folder of its day in a parquet sink, and the same bytes as in a folder', async () => {
    const storage = await anAnsweringStorage();
    await openInBucket('parquet', storage, { to: 's3://exports/' }).deliver(aBatch(2), NEVER);
    expect([...storage.objects.keys()]).toEqual([
      'day=2026-11-20/leads-20261120T100001.000Z-b0000000000000001.parquet',
    ]);
  });

  test('that already has the same content is not written again, even if two attempts send it at the same time', async () => {
    const storage = await anAnsweringStorage();
    const sink = openInBucket('csv', storage);
    await Promise.all([
      isDelivered(sink.deliver(aBatch(2), NEVER)),
      isDelivered(sink.deliver(aBatch(2), NEVER)),
    ]);
    await isDelivered(openInBucket('csv', storage).deliver(aBatch(2), NEVER));
    expect(puts(storage).map(({ headers }) => headers['if-none-match'])).toEqual(['*', '*', '*']);
    expect(storage.objects.size).toBe(1);
  });

  test.each([
    ['is shorter', whole.subarray(0, 20)],
    ['is empty', Buffer.alloc(0)],
    ['differs in one byte', Buffer.from(whole).fill('x', 20, 21)],
    ['is longer', Buffer.concat([whole, Buffer.from('x')])],
  ])('that has other content, which %s, is replaced as a whole', async (_, before) => {
    const storage = await anAnsweringStorage();
    storage.objects.set(KEY, before);
    await isDelivered(openInBucket('csv', storage).deliver(aBatch(2), NEVER));
    expect(storage.objects.get(KEY)?.equals(whole)).toBe(true);
  });

  test('that exists and may not be read is replaced', async () => {
    const storage = await anAnsweringStorage((asked) =>
      isObject(asked) ? [403, code('AccessDenied')] : undefined,
    );
    storage.objects.set(KEY, Buffer.from('other'));
    await isDelivered(openInBucket('csv', storage).deliver(aBatch(2), NEVER));
    expect(storage.objects.get(KEY)?.equals(whole)).toBe(true);
  });

  test('is not replaced after the lease of the attempt has ended', async () => {
    const storage = await anAnsweringStorage();
    storage.objects.set(KEY, Buffer.from('other'));
    let looks = 0;
    const confirmLease = () => {
      looks += 1;
      if (looks > 1) throw new LeaseOver();
    };
    const attempt = { timeLeftMs: () => 60_000, confirmLease };
    const failure = await failureOf(openInBucket('csv', storage).deliver(aBatch(2), NEVER, attempt));
    expect(failure).toBeInstanceOf(LeaseOver);
    expect(storage.objects.get(KEY)?.toString()).toBe('other');
  });

  test.each<[string, Answer]>([
    ['NotImplemented', [501, code('NotImplemented')]],
    ['InvalidArgument', [400, code('InvalidArgument')]],
  ])(
    'arrives at a service that answers %s to If-None-Match, and later ones are sent without it',
    async (_, answer) => {
      const storage = await anAnsweringStorage((asked) =>
        asked.headers['if-none-match'] === undefined ? undefined : answer,
      );
      const sink = openInBucket('csv', storage);
      await isDelivered(sink.deliver(aBatch(2), NEVER));
      await isDelivered(sink.deliver(aBatch(2), NEVER));
      expect(puts(storage).map(({ headers }) => headers['if-none-match'])).toEqual([
        '*',
        undefined,
        undefined,
      ]);
      expect([...storage.objects.keys()]).toEqual([KEY]);
    },
  );
});

describe('a failure', () => {
  const answers: [string, Answer, string, string, number | undefined][] = [
    ['keys without the right', [403, code('AccessDenied')], 'refuses access', 's3:PutObject', 403],
    ['a missing bucket', [404, code('NoSuchBucket')], 'does not exist', 'correct `to`', 404],
    ['too many requests', [503, code('SlowDown')], 'asks for fewer requests', 'If this persists', 503],
    ['an error of the storage', [500, code('InternalError')], 'answered 500', 'If this persists', 500],
    ['a conflict', [409, code('ConditionalRequestConflict')], 'another request', 'another program', 409],
    ['a file that is too large', [400, code('EntityTooLarge')], 'of this size', '`batch.max`', 400],
    ['a web server', [200, 'canary-page'], 'does not answer like a storage service', '`endpoint`', undefined],
    [
      'a request that the service does not support',
      [501, code('NotImplemented')],
      'not support',
      '`checksums: false`',
      501,
    ],
  ];

  test.each(answers)('of %s is reported with the next step, and no text of the answer', async (...row) => {
    const [, answer, message, hint, httpStatus] = row;
    const storage = await anAnsweringStorage((asked) => (isPut(asked) ? answer : undefined));
    const failure = await failureOf(openInBucket('csv', storage).deliver(aBatch(2), NEVER));
    expect(failure.message).toMatch(/^The bucket exports at 127\.0\.0\.1:\d+ /);
    expect(failure.message).toContain(message);
    expect(failure.hint).toContain(hint);
    expect(`${failure.message} ${failure.hint}`).not.toMatch(/canary|retries|@example\.com/);
    expect(failure).toMatchObject({ httpStatus, unsent: false, gone: false, answer: undefined });
  });

  test('is one request: the SDK does not repeat it, because the ledger does', async () => {
    const storage = await anAnsweringStorage((asked) =>
      isPut(asked) ? [503, code('SlowDown'), { 'retry-after': '7' }] : undefined,
    );
    const sink = openInBucket('csv', storage, {}, { clock: new HeldClock() });
    expect((await failureOf(sink.deliver(aBatch(2), NEVER))).retryAfterMs).toBe(7_000);
    expect(storage.asked).toHaveLength(1);
  });

  test.each<[Answer, number]>([
    ['cut', 2],
    ['done and cut', 1],
  ])(
    'of the connection (%s) is reported; the next attempt stores the object or finds it',
    async (answer, stored) => {
      let isBroken = true;
      const storage = await anAnsweringStorage((asked) => (isPut(asked) && isBroken ? answer : undefined));
      const sink = openInBucket('csv', storage);
      const failure = await failureOf(sink.deliver(aBatch(2), NEVER));
      expect(failure.message).toMatch(/reset the connection|closed the connection/);
      expect(failure).toMatchObject({ httpStatus: undefined, unsent: false });
      expect(storage.objects.size).toBe(2 - stored);
      isBroken = false;
      await isDelivered(sink.deliver(aBatch(2), NEVER));
      expect([...storage.objects.keys()]).toEqual([KEY]);
      expect(storage.asked.filter(isObject)).toHaveLength(2 - stored);
    },
  );

  test('to answer ends the attempt at its deadline, and at an abort', async () => {
    const storage = await anAnsweringStorage(() => 'silence');
    const late = openInBucket('csv', storage, {}, { timeoutMs: 200 }).deliver(aBatch(2), NEVER);
    expect((await failureOf(late)).message).toBe(
      'Writing to s3://exports/acme/leads/ took longer than 0.2 s.',
    );
    const abort = new AbortController();
    const stopped = failureOf(openInBucket('csv', storage).deliver(aBatch(2), abort.signal));
    await until('both requests are there', () => puts(storage).length === 2, 10_000);
    abort.abort();
    expect(await stopped).toMatchObject({
      message: 'Writing to s3://exports/acme/leads/ was interrupted.',
      unsent: false,
    });
  });

  test('before anything was sent is reported as such', async () => {
    const storage = await anAnsweringStorage();
    const { access_key_id: _, secret_access_key: __, endpoint: ___, ...options } = storage.options;
    const failure = await failureOf(openInBucket('csv', { options }).deliver(aBatch(2), NEVER));
    expect(failure.message).toBe('The bucket exports has no known region (NoRegion).');
    expect(failure.hint).toContain('`bucket_region`');
    expect(failure.unsent).toBe(true);
  });
});

describe('a check', () => {
  const denied: Answer = [403, code('AccessDenied')];
  const table: [string, Answers, string][] = [
    [
      'cannot be listed',
      (asked) => (isListing(asked) ? denied : undefined),
      'refuses access with these keys',
    ],
    [
      'cannot be written to',
      (asked) => (isStart(asked) ? denied : undefined),
      'refuses access with these keys',
    ],
    ['is a web page', () => [200, '<html>Welcome</html>'], 'returns a listing that leadsync cannot use'],
  ];

  test.each(table)('of a bucket that %s fails', async (_, answers, message) => {
    const storage = await anAnsweringStorage(answers);
    const failure = await failureOf(openInBucket('csv', storage).check(NEVER));
    expect(failure.message).toContain(message);
    expect(failure.hint).not.toBe('');
  });

  test.each([405, 501])('passes at a service without uploads in parts (%i)', async (status) => {
    const storage = await anAnsweringStorage((asked) =>
      isStart(asked) ? [status, code('NotImplemented')] : undefined,
    );
    await openInBucket('csv', storage).check(NEVER);
    expect(storage.objects.size).toBe(0);
  });
});

describe('the stored leads', () => {
  const idsOf = async (sink: Sink) => (await storedIn(sink)).map(({ leadId }) => leadId);

  async function storedIn(sink: Sink): Promise<StoredLead[]> {
    const stored: StoredLead[] = [];
    for await (const lead of sink.storedLeads?.(NEVER) ?? []) stored.push(lead);
    return stored;
  }

  /** A storage with one file of leads, and its content under these keys as well. */
  async function storageWith(keys: readonly string[], answers?: Answers): Promise<StorageServer> {
    const storage = await anAnsweringStorage(answers);
    const lead = aDelivery({ leadId: 9_223_372_036_854_775_807n, version: 3, id: 'drop:main:1:3:cafe' });
    await openInBucket('csv', storage).deliver(aBatch([lead]), NEVER);
    for (const key of keys) storage.objects.set(key, storage.objects.get(KEY) as Buffer);
    return storage;
  }

  test('are those in the files of leads under the prefix, each with its address', async () => {
    const storage = await storageWith([
      `${PREFIX}test-20261120T100000.000Z.csv.test`,
      `${PREFIX}other.csv`,
      `${PREFIX}leads-1.parquet`,
      `${PREFIX}day=2026-11-20/leads-2.csv`,
      `${PREFIX}day=2026-11-20/other.csv`,
      `${PREFIX}day=2026-11-20/older/leads-3.csv`,
      'acme/leads-4.csv',
      'leads-5.csv',
    ]);
    const lead = { source: 'main', leadId: 9_223_372_036_854_775_807n, version: 3 };
    expect(await storedIn(openInBucket('csv', storage))).toEqual([
      { ...lead, file: `s3://exports/${KEY}` },
      { ...lead, file: `s3://exports/${PREFIX}day=2026-11-20/leads-2.csv` },
    ]);
  });

  test('are read from every page of the listing, one object at a time, without objects that have vanished', async () => {
    const keys = [1, 2, 3].map((at) => `${PREFIX}leads-${at}.csv`);
    const pageOf = ({ query }: Asked): Answer => {
      const at = Number(query.get('continuation-token') ?? 0);
      if (query.get('prefix') !== `${PREFIX}leads-`)
        return [200, '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'];
      const next = at < 2 ? `<NextContinuationToken>${at + 1}</NextContinuationToken>` : '';
      return [
        200,
        `<ListBucketResult><IsTruncated>${at < 2}</IsTruncated>${next}<Contents><Key>${keys[at]}</Key></Contents></ListBucketResult>`,
      ];
    };
    const storage = await storageWith(keys, (asked) => (isListing(asked) ? pageOf(asked) : undefined));
    storage.objects.delete(keys[1] ?? '');
    expect(await idsOf(openInBucket('csv', storage))).toHaveLength(2);
    const reads = storage.asked
      .filter(({ method }) => method === 'GET')
      .map((one) => (isListing(one) ? 'list' : 'get'));
    expect(reads).toEqual(['list', 'get', 'list', 'get', 'list', 'get', 'list']);
  });

  test.each<[string, Answer, string]>([
    ['an archived object', [403, code('InvalidObjectState')], 'in an archive'],
    ['a refused listing', [403, code('AccessDenied')], 'refuses access'],
  ])('cannot be read with %s', async (_, answer, message) => {
    const storage = await storageWith([], (asked) => (asked.method === 'GET' ? answer : undefined));
    expect((await failureOf(storedIn(openInBucket('csv', storage)))).message).toContain(message);
  });

  test('cannot be read with a file of another program, which the error names', async () => {
    const storage = await anAnsweringStorage();
    const key = `${PREFIX}day=2026-11-20/leads-1.parquet`;
    storage.objects.set(key, Buffer.from('not parquet'));
    const failure = await failureOf(storedIn(openInBucket('parquet', storage)));
    expect(failure.message).toBe(`s3://exports/${key} cannot be read as Parquet.`);
  });
});

test('neither the preview nor the test event shows a key', async () => {
  const storage = await anAnsweringStorage();
  const sink = openInBucket('csv', storage);
  const shown = JSON.stringify([sink.preview(aBatch(2)), await sink.test(aBatch(1), NEVER)]);
  expect(shown).toContain(`s3://exports/${KEY}`);
  expect(shown).toContain(
    `leadsync wrote s3://exports/${PREFIX}test-20261120T100001.000Z.csv.test as it writes leads.`,
  );
  expect(shown).not.toMatch(/canary-(id|key)/);
});
