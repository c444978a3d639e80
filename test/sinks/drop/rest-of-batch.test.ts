import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Batch } from '../../../src/leads/delivery.ts';
import type { MappedValue } from '../../../src/leads/mapped-fields.ts';
import { disk, type Files } from '../../../src/platform/files/file-system.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { LeaseOver, SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { anAnsweringStorage } from '../../exports/answering-storage.ts';
import { parquetRows } from '../../exports/read-parquet.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { type Answer, isListing } from '../../support/servers/storage-server.ts';
import { openCsv } from '../csv/open-csv.ts';
import { openParquet } from '../parquet/open-parquet.ts';
import { openInBucket, PREFIX } from './open-in-bucket.ts';

const NEVER = new AbortController().signal;
const NAME = 'leads-20261120T100001.000Z-b1.csv';
const OTHER = 'leads-20261120T100001.000Z-b2.csv';
const DAY = 'day=2026-11-20';
const DENIED: Answer = [403, '<Error><Code>AccessDenied</Code></Error>'];
const LISTS_NOTHING: Answer = [200, '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'];

const whole = aBatch(4, { id: 'b1' });
const firstHalf = unsure(part(whole, 0, 2));
const secondHalf = { ...unsure(part(whole, 2, 4)), id: 'b2' };

/** Returns a batch with some of the deliveries of another. */
function part(batch: Batch, from: number, to: number): Batch {
  return { ...batch, deliveries: batch.deliveries.slice(from, to) };
}

/** Returns the batch of an attempt after one whose end is unknown. */
function unsure(batch: Batch): Batch {
  return { ...batch, deliveries: batch.deliveries.map((one) => ({ ...one, mayHaveArrived: true })) };
}

async function expectDelivered(sink: Sink, batch: Batch): Promise<void> {
  const outcomes = await sink.deliver(batch, NEVER);
  expect(outcomes).toEqual(batch.deliveries.map(() => ({ kind: 'delivered' })));
}

async function failureOf(work: Promise<unknown>): Promise<SinkUnavailable> {
  const failure = await work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(SinkUnavailable);
  return failure as SinkUnavailable;
}

/** Returns every file in a folder, with the number that changes if it is written again. */
function filesIn(directory: string) {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
  return names.map((name) => [name, statSync(join(directory, name)).ino] as const);
}

/** Returns the ids of the leads in a CSV file. */
function leadsIn(content: Buffer | undefined): string[] {
  return [...(content?.toString() ?? '').matchAll(/(?:^|\r\n)(\d+),/g)].map(([, id = '']) => id);
}

function leadsOf(directory: string, name: string): string[] {
  return leadsIn(readFileSync(join(directory, name)));
}

/** Stores a CSV file as `batch` makes it, under another name. */
async function storeAs(directory: string, name: string, batch: Batch): Promise<void> {
  const other = tempDir();
  await openCsv({ directory: other }).deliver(batch, NEVER);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), readFileSync(join(other, readdirSync(other)[0] ?? '')));
}

describe.each([
  ['CSV', (directory: string) => openCsv({ directory })],
  ['Parquet', (directory: string) => openParquet(directory)],
])('a batch whose %s file appeared although no attempt ended', (_, open) => {
  test('is delivered after it was split, and neither half writes or changes a file', async () => {
    const directory = tempDir();
    await open(directory).deliver(whole, NEVER);
    const before = filesIn(directory);
    await expectDelivered(open(directory), firstHalf);
    await expectDelivered(open(directory), secondHalf);
    expect(filesIn(directory)).toEqual(before);
  });

  test('is delivered as a whole, and its file is not written again', async () => {
    const directory = tempDir();
    await open(directory).deliver(whole, NEVER);
    const before = filesIn(directory);
    await expectDelivered(open(directory), unsure(whole));
    expect(filesIn(directory)).toEqual(before);
  });
});

describe.each(['csv', 'parquet'] as const)('a batch whose %s object appeared in a bucket', (type) => {
  test('is delivered after it was split, with one listing and no PUT for each half', async () => {
    const storage = await anAnsweringStorage();
    await openInBucket(type, storage).deliver(whole, NEVER);
    const before = new Map(storage.objects);
    const sent = storage.asked.length;
    await expectDelivered(openInBucket(type, storage), firstHalf);
    await expectDelivered(openInBucket(type, storage), secondHalf);
    expect(storage.objects).toEqual(before);
    const asked = storage.asked.slice(sent).map((one) => (isListing(one) ? 'list' : one.method));
    expect(asked).toEqual(['list', 'GET', 'list', 'GET']);
  });
});

describe('the leads that no earlier file contains', () => {
  test('are written under the name of their batch if it is free', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(part(whole, 0, 3), NEVER);
    await expectDelivered(openCsv({ directory }), secondHalf);
    expect(leadsOf(directory, NAME)).toEqual(['1', '2', '3']);
    expect(leadsOf(directory, OTHER)).toEqual(['4']);
  });

  test('are written under a further name if that is taken, which a repeat finds again', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(part(whole, 0, 2), NEVER);
    const [taken] = filesIn(directory);
    await expectDelivered(openCsv({ directory }), unsure(whole));
    const after = filesIn(directory);
    const further = after.map(([name]) => name).find((name) => name !== NAME) ?? '';
    expect(after).toEqual(expect.arrayContaining([taken, [further, expect.any(Number)]]));
    expect(further).toMatch(/^leads-20261120T100001\.000Z-b1-[0-9a-f]{8}\.csv$/);
    expect(leadsOf(directory, further)).toEqual(['3', '4']);
    await expectDelivered(openCsv({ directory }), unsure(whole));
    expect(filesIn(directory)).toEqual(after);
    rmSync(join(directory, further));
    await expectDelivered(openCsv({ directory }), unsure(whole));
    expect(filesIn(directory).map(([name]) => name)).toEqual(after.map(([name]) => name));
  });

  test('are written under a further name in a bucket and as Parquet too', async () => {
    const directory = tempDir();
    await openParquet(directory).deliver(part(whole, 0, 2), NEVER);
    await expectDelivered(openParquet(directory), unsure(whole));
    const names = readdirSync(join(directory, DAY)).sort();
    const rows = await Promise.all(names.map((name) => parquetRows(join(directory, DAY, name))));
    expect(rows.map((ofFile) => ofFile.map(({ id }) => id))).toEqual(
      expect.arrayContaining([
        [1n, 2n],
        [3n, 4n],
      ]),
    );
    const storage = await anAnsweringStorage();
    await openInBucket('csv', storage).deliver(part(whole, 0, 2), NEVER);
    await expectDelivered(openInBucket('csv', storage), unsure(whole));
    expect([...storage.objects.values()].map(leadsIn)).toEqual([
      ['1', '2'],
      ['3', '4'],
    ]);
  });

  test('are all of them after a reader moved the file away: it appears again', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(whole, NEVER);
    const before = readFileSync(join(directory, NAME));
    rmSync(join(directory, NAME));
    await expectDelivered(openCsv({ directory }), unsure(whole));
    expect(readFileSync(join(directory, NAME)).equals(before)).toBe(true);
  });

  test('do not depend on files of another time, ending or folder', async () => {
    const directory = tempDir();
    for (const name of ['leads-20261120T100002.000Z-b1.csv', `${NAME}.test`, join('done', NAME)])
      await storeAs(join(directory, dirname(name)), name.replace(/.*\//, ''), whole);
    await expectDelivered(openCsv({ directory }), unsure(whole));
    expect(leadsOf(directory, NAME)).toEqual(['1', '2', '3', '4']);
  });

  test('are recognised by their delivery in files of mapped leads', async () => {
    const fields = new Map<string, MappedValue>([['id', 'the same for all']]);
    const mapped = aBatch(
      whole.deliveries.map((one) => ({ ...one, fields })),
      { id: 'b1', columns: [{ name: 'id', type: 'text' }] },
    );
    for (const open of [(directory: string) => openCsv({ directory }), openParquet]) {
      const directory = tempDir();
      await open(directory).deliver(mapped, NEVER);
      const before = filesIn(directory);
      await expectDelivered(open(directory), unsure(part(mapped, 0, 2)));
      expect(filesIn(directory)).toEqual(before);
    }
  });

  test('include another content of a lead in the file', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(whole, NEVER);
    const changed = aDelivery({ leadId: 2n, version: 2, mayHaveArrived: true });
    await expectDelivered(openCsv({ directory }), { ...secondHalf, deliveries: [changed] });
    expect(leadsOf(directory, OTHER)).toEqual(['2']);
  });
});

describe('an earlier file', () => {
  const diskError = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));

  test('is synced before its leads count as delivered', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(whole, NEVER);
    const broken: Files = {
      ...disk,
      syncFolder: (path) => (path === directory ? diskError('EIO')() : disk.syncFolder(path)),
    };
    const failure = await failureOf(openCsv({ directory }, broken).deliver(firstHalf, NEVER));
    expect(failure.message).toContain(directory);
  });

  test.each(['list', 'read'] as const)('that leadsync may not %s makes all leads wait', async (step) => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(part(whole, 0, 2), NEVER);
    const before = filesIn(directory);
    const sink = openCsv({ directory }, { ...disk, [step]: diskError('EACCES') });
    const { message, hint } = await failureOf(sink.deliver(unsure(whole), NEVER));
    expect(message).toBe(`The folder ${directory} may not be read by leadsync (EACCES).`);
    expect(hint).not.toBe('');
    expect(filesIn(directory)).toEqual(before);
  });

  test('that is no Parquet file makes all leads wait, and is named', async () => {
    const directory = tempDir();
    const name = join(DAY, 'leads-20261120T100001.000Z-b7.parquet');
    mkdirSync(join(directory, DAY));
    writeFileSync(join(directory, name), 'no Parquet');
    const { message } = await failureOf(openParquet(directory).deliver(unsure(whole), NEVER));
    expect(message).toBe(`${join(directory, name)} cannot be read as Parquet.`);
  });

  test('that takes too long to read ends the attempt at its deadline', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(whole, NEVER);
    const hanging = { ...disk, read: () => new Promise<never>(() => undefined) };
    const sink = openCsv({ directory }, hanging, { timeoutMs: 100 });
    expect((await failureOf(sink.deliver(firstHalf, NEVER))).message).toContain('took longer than 0.1 s');
  });

  test('that appears after the folder was listed is not replaced', async () => {
    const directory = tempDir();
    const read: Files['read'] = async (path) => {
      await storeAs(directory, NAME, whole);
      return disk.read(path);
    };
    const sink = openCsv({ directory }, { ...disk, read });
    expect((await failureOf(sink.deliver(firstHalf, NEVER))).message).toContain(NAME);
    expect(leadsOf(directory, NAME)).toEqual(['1', '2', '3', '4']);
  });
});

describe('the lease of an attempt', () => {
  const confirmLease = () => {
    throw new LeaseOver();
  };
  const under = { timeLeftMs: () => 60_000, confirmLease };

  test('is confirmed before the rest becomes visible', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(part(whole, 0, 2), NEVER);
    const failure = await failureOf(openCsv({ directory }).deliver(unsure(whole), NEVER, under));
    expect(failure).toBeInstanceOf(LeaseOver);
    expect(filesIn(directory).map(([name]) => name)).toEqual([NAME]);
  });

  test('is confirmed before the rest is sent to a bucket', async () => {
    const storage = await anAnsweringStorage();
    const failure = await failureOf(openInBucket('csv', storage).deliver(unsure(whole), NEVER, under));
    expect(failure).toBeInstanceOf(LeaseOver);
    expect(storage.objects.size).toBe(0);
  });
});

describe('a bucket', () => {
  test('that may not be listed makes leads wait that may have arrived, and says which rights the keys need', async () => {
    const storage = await anAnsweringStorage((asked) => (isListing(asked) ? DENIED : undefined));
    await expectDelivered(openInBucket('csv', storage), whole);
    const failure = await failureOf(openInBucket('csv', storage).deliver(firstHalf, NEVER));
    expect(failure.hint).toMatch(/s3:ListBucket and s3:GetObject to deliver/);
    expect(failure.unsent).toBe(true);
    expect(storage.asked.map(({ method }) => method)).toEqual(['PUT', 'GET']);
  });

  test('in which an object appears after it was listed keeps that object', async () => {
    let isLate = true;
    const storage = await anAnsweringStorage((asked) =>
      isListing(asked) && isLate ? LISTS_NOTHING : undefined,
    );
    await openInBucket('csv', storage).deliver(whole, NEVER);
    const failure = await failureOf(openInBucket('csv', storage).deliver(firstHalf, NEVER));
    expect(failure.message).toBe(`s3://exports/${PREFIX}${NAME} appeared during the attempt.`);
    expect(leadsIn(storage.objects.get(PREFIX + NAME))).toEqual(['1', '2', '3', '4']);
    isLate = false;
    await expectDelivered(openInBucket('csv', storage), firstHalf);
    expect([...storage.objects.keys()]).toEqual([PREFIX + NAME]);
  });
});
