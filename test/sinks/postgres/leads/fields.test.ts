import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Batch, Delivery } from '../../../../src/leads/delivery.ts';
import type { MappedColumn, MappedValue } from '../../../../src/leads/mapped-fields.ts';
import { mayHaveArrived } from '../../../../src/leads/outcome.ts';
import type { Sink } from '../../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../../src/sinks/sink-unavailable.ts';
import { testBatch } from '../../../../src/sinks/test-batch.ts';
import { aBatch, aDelivery } from '../../../support/scene/a-delivery.ts';
import { aLead } from '../../../support/scene/a-lead.ts';
import { uniqueName } from '../../../support/servers/services.ts';
import { type Database, openPostgres, startDatabase } from '../database.ts';
import { startProxy } from '../proxy.ts';

const NEVER = new AbortController().signal;
const COLUMNS: readonly MappedColumn[] = [
  { name: 'phone', type: 'text' },
  { name: 'rooms', type: 'bigint' },
  { name: 'share', type: 'double' },
  { name: 'urgent', type: 'boolean' },
  { name: 'created', type: 'time' },
  { name: 'all answers', type: 'json' },
];

let database: Database;
const sinks: Sink[] = [];

beforeEach(() => {
  database = startDatabase();
});

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await database.close();
});

function open(options: Partial<Parameters<typeof openPostgres>[0]> = {}): Sink {
  const sink = openPostgres({ url: database.url, schema: database.schema, ...options });
  sinks.push(sink);
  return sink;
}

/** Returns a delivery of the lead with these fields. */
function mapped(id: number, fields: Record<string, MappedValue>, more: Partial<Delivery> = {}): Delivery {
  const leadId = BigInt(id);
  return aDelivery({ leadId, raw: aLead({ id }), fields: new Map(Object.entries(fields)), ...more });
}

const batchOf = (columns: readonly MappedColumn[], ...deliveries: Delivery[]): Batch => ({
  ...aBatch(deliveries),
  columns,
});
const rows = (columns: string) => database.query(`SELECT ${columns} FROM leads ORDER BY id`);
const kinds = (outcomes: readonly { kind: string }[]) => outcomes.map(({ kind }) => kind);
const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(SinkUnavailable);
      return error as SinkUnavailable;
    },
  );

describe('the fields of a mapping', () => {
  test('are typed columns beside those of the lead, exact and with hostile text replaced', async () => {
    const batch = batchOf(
      COLUMNS,
      mapped(1, {
        phone: '+61412345678\0 "{}\\',
        rooms: 9_007_199_254_740_993n,
        share: 0.1,
        urgent: false,
        created: '2026-11-20T09:59:30.123Z',
        'all answers': [{ 'q\0': 'a\0', n: 9_223_372_036_854_775_807n }],
      }),
      mapped(2, { phone: null, rooms: null, share: null, urgent: null, created: null, 'all answers': null }),
    );
    expect(kinds(await open().deliver(batch, NEVER))).toEqual(['delivered', 'delivered']);
    const [one, two] = await rows(
      'id, client_name, phone, rooms, share, urgent, created, "all answers"::text AS answers',
    );
    expect(one).toEqual({
      id: '1',
      client_name: 'Anna Müller',
      phone: '+61412345678\ufffd "{}\\',
      rooms: '9007199254740993',
      share: 0.1,
      urgent: false,
      created: new Date('2026-11-20T09:59:30.123Z'),
      answers: '[{"n": 9223372036854775807, "q\ufffd": "a\ufffd"}]',
    });
    expect(two).toMatchObject({ phone: null, rooms: null, urgent: null, answers: null });
    expect(
      await database.query(
        `SELECT count(*)::int AS n FROM pg_attribute WHERE attrelid = 'leads'::regclass AND attname = ANY ($1)
        AND col_description(attrelid, attnum) LIKE 'A field of the mapping%'`,
        [COLUMNS.map(({ name }) => name)],
      ),
    ).toEqual([{ n: COLUMNS.length }]);
  });

  test('without a mapping, leads keep the columns that they had', async () => {
    const sink = open();
    await sink.deliver(aBatch(1), NEVER);
    const before = await database.query(
      "SELECT attname FROM pg_attribute WHERE attrelid = 'leads'::regclass AND attnum > 0 ORDER BY attnum",
    );
    await sink.deliver(aBatch(2), NEVER);
    expect(before.map(({ attname }) => attname)).toContain('_leadsync_original');
    expect(
      await database.query(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'leads'::regclass AND attnum > 0 ORDER BY attnum",
      ),
    ).toEqual(before);
  });

  test('a changed mapping adds its columns and drops none; earlier values stay', async () => {
    await open().deliver(batchOf([{ name: 'a', type: 'text' }], mapped(1, { a: 'kept' })), NEVER);
    await open().deliver(batchOf([{ name: 'b', type: 'bigint' }], mapped(2, { b: 7n })), NEVER);
    expect(await rows('id, a, b')).toEqual([
      { id: '1', a: 'kept', b: null },
      { id: '2', a: null, b: '7' },
    ]);
  });

  test('a field that an update does not have keeps its value, and an older content overwrites none', async () => {
    const sink = open();
    const columns: MappedColumn[] = [
      { name: 'stage', type: 'text' },
      { name: 'phone', type: 'text' },
    ];
    const at = (seconds: number) => new Date(Date.parse('2026-11-20T10:00:00Z') + seconds * 1000);
    const versions = [
      mapped(1, { stage: 'new', phone: '1' }, { version: 1, changedAt: at(0) }),
      mapped(1, { phone: '2' }, { version: 2, event: 'updated', changedAt: at(9) }),
    ];
    for (const version of versions) await sink.deliver(batchOf(columns, version), NEVER);
    expect(await rows('stage, phone')).toEqual([{ stage: 'new', phone: '2' }]);
    const late = mapped(1, { stage: 'late', phone: '0' }, { version: 1, changedAt: at(0) });
    expect(kinds(await sink.deliver(batchOf(columns, late), NEVER))).toEqual(['delivered']);
    expect(await rows('stage, phone')).toEqual([{ stage: 'new', phone: '2' }]);
  });

  test('a batch may hold mapped leads, leads as received and leads of a former mapping', async () => {
    const batch = batchOf(
      [{ name: 'b', type: 'bigint' }],
      mapped(1, { b: 1n }),
      aDelivery({ leadId: 2n, raw: aLead({ id: 2 }) }),
      mapped(3, { former: 'x', b: 3n }),
      mapped(4, { former: 4n }),
    );
    expect(kinds(await open().deliver(batch, NEVER))).toEqual(Array(4).fill('delivered'));
    expect(await rows('id, b, former')).toEqual([
      { id: '1', b: '1', former: null },
      { id: '2', b: null, former: null },
      { id: '3', b: '3', former: 'x' },
      { id: '4', b: null, former: '4' },
    ]);
  });

  test('a column that a user added is used if its type can hold the field; otherwise the leads wait', async () => {
    await open().deliver(aBatch(1), NEVER);
    await database.query(
      'ALTER TABLE leads ADD COLUMN rooms text, ADD COLUMN phone varchar(20), ADD COLUMN price numeric',
    );
    const columns: MappedColumn[] = [
      { name: 'rooms', type: 'bigint' },
      { name: 'phone', type: 'text' },
    ];
    const outcomes = await open().deliver(batchOf(columns, mapped(2, { rooms: 3n, phone: '1' })), NEVER);
    expect(kinds(outcomes)).toEqual(['delivered']);
    expect(await database.query('SELECT rooms, phone FROM leads WHERE id = 2')).toEqual([
      { rooms: '3', phone: '1' },
    ]);
    const error = await failure(
      open().deliver(batchOf([{ name: 'price', type: 'double' }], mapped(3, { price: 0.5 })), NEVER),
    );
    expect(`${error.message} ${error.hint}`).toMatch(
      /"price" of .*leads has the type numeric, but its field has the type double precision\. .*ALTER TABLE .* ALTER COLUMN "price" TYPE text/,
    );
    expect(error.unsent).toBe(true);
  });

  test('the error for a table without room for more columns has the next step, and comes before anything is sent', async () => {
    await open().deliver(aBatch(1), NEVER);
    const [{ used = 0 } = {}] = await database.query(
      "SELECT relnatts::int AS used FROM pg_class WHERE oid = 'leads'::regclass",
    );
    const added = Array.from({ length: 1_599 - Number(used) }, (_, index) => `ADD COLUMN c${index} text`);
    await database.query(`ALTER TABLE leads ${added.join(', ')}`);
    // A dropped column counts as well.
    await database.query('ALTER TABLE leads DROP COLUMN c0');
    const batch = batchOf(COLUMNS.slice(0, 2), mapped(2, { phone: '1', rooms: 3n }));
    const said =
      /leads has 1599 of the 1600 columns .* dropped ones, and lacks 2 for fields\. .*fewer fields/;
    const error = await failure(open().deliver(batch, NEVER));
    expect(`${error.message} ${error.hint}`).toMatch(said);
    expect(error.unsent).toBe(true);
    const checked = await failure(open().check(NEVER, COLUMNS.slice(0, 2)));
    expect(`${checked.message} ${checked.hint}`).toMatch(said);
    const one = batchOf(COLUMNS.slice(0, 1), mapped(2, { phone: '1' }));
    expect(kinds(await open().deliver(one, NEVER))).toEqual(['delivered']);
  });

  test('a value of a former mapping that its column cannot hold is refused with its lead alone', async () => {
    const columns: MappedColumn[] = [{ name: 'rooms', type: 'bigint' }];
    await open().deliver(batchOf(columns, mapped(9, { rooms: 9n })), NEVER);
    const batch = batchOf(
      columns,
      mapped(1, { rooms: 1n }),
      mapped(2, { rooms: 'three' }),
      mapped(3, { rooms: 3n }),
    );
    const outcomes = await open().deliver(batch, NEVER);
    expect(outcomes).toMatchObject([
      { kind: 'delivered' },
      { kind: 'refused', reason: expect.stringMatching(/`rooms`.*bigint/), unsent: true },
      { kind: 'delivered' },
    ]);
    expect(JSON.stringify(outcomes)).not.toContain('three');
    expect(await rows('id, rooms')).toEqual([
      { id: '1', rooms: '1' },
      { id: '3', rooms: '3' },
      { id: '9', rooms: '9' },
    ]);
  });

  test('a new column is text if an earlier mapping of a pending lead gives another type', async () => {
    const columns: MappedColumn[] = [{ name: 'rooms', type: 'bigint' }];
    const batch = batchOf(columns, mapped(1, { rooms: 1n }), mapped(2, { rooms: 'three' }));
    expect(kinds(await open().deliver(batch, NEVER))).toEqual(['delivered', 'delivered']);
    expect(await rows('id, rooms')).toEqual([
      { id: '1', rooms: '1' },
      { id: '2', rooms: 'three' },
    ]);
  });

  test('a sink that knows a column notices that its field has another type, or that a user changed the column', async () => {
    const sink = open();
    const of = (type: MappedColumn['type'], id: number, rooms: MappedValue) =>
      batchOf([{ name: 'rooms', type }], mapped(id, { rooms }));
    await sink.deliver(of('bigint', 1, 3n), NEVER);
    const error = await failure(sink.deliver(of('text', 2, 'three'), NEVER));
    expect(error.hint).toContain('ALTER COLUMN "rooms" TYPE text');
    await database.query(error.hint.slice(error.hint.indexOf('ALTER TABLE')));
    expect(kinds(await sink.deliver(of('text', 2, 'three'), NEVER))).toEqual(['delivered']);
    expect(kinds(await sink.deliver(of('bigint', 3, 4n), NEVER))).toEqual(['delivered']);
    expect(await rows('rooms')).toEqual([{ rooms: '3' }, { rooms: 'three' }, { rooms: '4' }]);
  });

  test('a column for fractions accepts whole numbers as well', async () => {
    const sink = open();
    const of = (type: MappedColumn['type'], id: number, value: MappedValue) =>
      batchOf([{ name: 'share', type }], mapped(id, { share: value }));
    await sink.deliver(of('double', 1, 1.5), NEVER);
    expect(kinds(await sink.deliver(of('bigint', 2, 2n), NEVER))).toEqual(['delivered']);
    expect(await rows('share')).toEqual([{ share: 1.5 }, { share: 2 }]);
  });

  test('a failure before the commit says that no lead arrived, and one of the commit that they may have', async () => {
    const columns: MappedColumn[] = [{ name: 'rooms', type: 'bigint' }];
    await open().deliver(aBatch(1), NEVER);
    await database.query('ALTER TABLE leads RENAME COLUMN client_name TO renamed');
    const before = await failure(open().deliver(batchOf(columns, mapped(2, { rooms: 3n })), NEVER));
    expect(mayHaveArrived(before.toOutcome())).toBe(false);
    await database.query('ALTER TABLE leads RENAME COLUMN renamed TO client_name');
    const proxy = await startProxy(database.url);
    proxy.cutAfterCommit();
    const after = await failure(
      open({ url: proxy.url }).deliver(batchOf(columns, mapped(2, { rooms: 3n })), NEVER),
    );
    proxy.close();
    expect(mayHaveArrived(after.toOutcome())).toBe(true);
    const nowhere = open({ url: 'postgresql://user@127.0.0.1:1/db' });
    expect(mayHaveArrived((await failure(nowhere.deliver(aBatch(1), NEVER))).toOutcome())).toBe(false);
  });

  test('a user that may write but does not own the table gets the statement that its owner has to run', async () => {
    await open().deliver(aBatch(1), NEVER);
    const role = uniqueName('writer');
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    await database.query(
      `GRANT USAGE ON SCHEMA ${database.schema} TO ${role}; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA ${database.schema} TO ${role}`,
    );
    try {
      const url = new URL(database.url);
      url.username = role;
      url.password = 'x';
      const writer = open({ url: url.href, mirror: false });
      const batch = batchOf([{ name: 'rooms', type: 'bigint' }], mapped(2, { rooms: 3n }));
      const error = await failure(writer.deliver(batch, NEVER));
      const statement = error.hint.replace('Run as its owner: ', '');
      expect(statement).toMatch(/^ALTER TABLE .*leads ADD COLUMN IF NOT EXISTS "rooms" bigint$/);
      await database.query(statement);
      expect(kinds(await writer.deliver(batch, NEVER))).toEqual(['delivered']);
    } finally {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  test('two sinks that add the same columns at the same time both deliver', async () => {
    const batches = [1, 2, 3, 4].map((id) =>
      batchOf(COLUMNS.slice(0, 2), mapped(id, { phone: '1', rooms: 2n })),
    );
    const outcomes = await Promise.all(batches.map((batch) => open().deliver(batch, NEVER)));
    expect(outcomes.flatMap(kinds)).toEqual(Array(4).fill('delivered'));
  });

  test('the next attempt creates a column again that a user drops', async () => {
    const sink = open();
    const batch = (id: number) => batchOf([{ name: 'rooms', type: 'bigint' }], mapped(id, { rooms: 3n }));
    await sink.deliver(batch(1), NEVER);
    await database.query('ALTER TABLE leads DROP COLUMN rooms');
    await failure(sink.deliver(batch(2), NEVER));
    expect(kinds(await sink.deliver(batch(2), NEVER))).toEqual(['delivered']);
    expect(await rows('id, rooms')).toEqual([
      { id: '1', rooms: null },
      { id: '2', rooms: '3' },
    ]);
  });

  test('a test event tests the columns and leaves none behind; a preview shows the values', async () => {
    const sink = open();
    await sink.deliver(aBatch(1), NEVER);
    const test = testBatch('sink', new Date());
    const batch = {
      ...test,
      columns: COLUMNS.slice(0, 2),
      deliveries: test.deliveries.map((one) => ({ ...one, fields: new Map([['rooms', 3n]]) })),
    };
    expect(await sink.test(batch, NEVER)).toMatchObject({ arrived: true });
    await expect(rows('rooms')).rejects.toThrow(/rooms/);
    expect(sink.preview(batchOf(COLUMNS, mapped(2, { phone: '1', rooms: 3n })))).toMatchObject([
      { fields: { id: '2', phone: '1', rooms: '3' } },
    ]);
  });
});
