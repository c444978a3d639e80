import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Batch, Delivery } from '../../../src/leads/delivery.ts';
import type { MappedColumn, MappedValue } from '../../../src/leads/mapped-fields.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { type Database, openMysql, startDatabase } from './database.ts';

const NEVER = new AbortController().signal;
const COLUMNS: readonly MappedColumn[] = [
  { name: 'phone', type: 'text' },
  { name: 'rooms', type: 'bigint' },
  { name: 'share', type: 'double' },
  { name: 'urgent', type: 'boolean' },
  { name: 'created', type: 'time' },
  { name: 'all `answers`', type: 'json' },
];

let database: Database;
const sinks: Sink[] = [];

beforeEach(async () => {
  database = await startDatabase();
});

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await database.close();
});

function open(url = database.url): Sink {
  const sink = openMysql({ url });
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
        phone: '+61412345678\0 "{}\\\'; DROP TABLE leads; --',
        rooms: 9_007_199_254_740_993n,
        share: 0.1,
        urgent: false,
        created: '2026-11-20T09:59:30.123Z',
        'all `answers`': [{ 'q\0': 'a\0', n: 9_223_372_036_854_775_807n }],
      }),
      mapped(2, {
        phone: null,
        rooms: null,
        share: null,
        urgent: null,
        created: null,
        'all `answers`': null,
      }),
    );
    expect(kinds(await open().deliver(batch, NEVER))).toEqual(['delivered', 'delivered']);
    const [one, two] = await rows(
      'id, client_name, phone, rooms, share, urgent, created, JSON_COMPACT(`all ``answers```) AS answers',
    );
    expect(one).toEqual({
      id: 1,
      client_name: 'Anna Müller',
      phone: '+61412345678\ufffd "{}\\\'; DROP TABLE leads; --',
      rooms: '9007199254740993',
      share: 0.1,
      urgent: 0,
      created: '2026-11-20 09:59:30.123000',
      answers: '[{"q\ufffd":"a\ufffd","n":9223372036854775807}]',
    });
    expect(two).toMatchObject({ phone: null, rooms: null, urgent: null, answers: null });
  });

  test('a changed mapping adds its columns and drops none; earlier values stay', async () => {
    const sink = open();
    await sink.deliver(batchOf([{ name: 'a', type: 'text' }], mapped(1, { a: 'kept' })), NEVER);
    await sink.deliver(batchOf([{ name: 'b', type: 'bigint' }], mapped(2, { b: 7n })), NEVER);
    expect(await rows('id, a, b')).toEqual([
      { id: 1, a: 'kept', b: null },
      { id: 2, a: null, b: 7 },
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
      mapped(1, { stage: 'late', phone: '0' }, { version: 1, changedAt: at(0) }),
    ];
    for (const version of versions)
      expect(kinds(await sink.deliver(batchOf(columns, version), NEVER))).toEqual(['delivered']);
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
      { id: 1, b: 1, former: null },
      { id: 2, b: null, former: null },
      { id: 3, b: 3, former: 'x' },
      { id: 4, b: null, former: '4' },
    ]);
  });

  test('a column that a user added is used if its type can hold the field; otherwise the message has the statement', async () => {
    await open().deliver(aBatch(1), NEVER);
    await database.query(
      'ALTER TABLE leads ADD COLUMN rooms text, ADD COLUMN Phone varchar(20), ADD COLUMN price date',
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
    const batch = batchOf([{ name: 'price', type: 'double' }], mapped(3, { price: 0.5 }));
    const error = await failure(open().deliver(batch, NEVER));
    expect(error.message).toMatch(
      /`price` of .*`leads` has the type date, but its field has the type double\.$/,
    );
    expect(error.unsent).toBe(true);
    expect((await failure(open().check(NEVER, batch.columns))).message).toBe(error.message);
    await database.query(error.hint.slice(error.hint.indexOf('ALTER TABLE')));
    expect(kinds(await open().deliver(batch, NEVER))).toEqual(['delivered']);
  });

  test('a value of a former mapping that its column cannot hold is refused with its lead alone', async () => {
    const columns: MappedColumn[] = [{ name: 'rooms', type: 'bigint' }];
    await open().deliver(batchOf(columns, mapped(9, { rooms: 9n })), NEVER);
    const outcomes = await open().deliver(
      batchOf(columns, mapped(1, { rooms: 1n }), mapped(2, { rooms: 'three' }), mapped(3, { rooms: 3n })),
      NEVER,
    );
    expect(outcomes).toMatchObject([
      { kind: 'delivered' },
      { kind: 'refused', reason: expect.stringMatching(/`rooms`.*bigint/), unsent: true },
      { kind: 'delivered' },
    ]);
    expect(JSON.stringify(outcomes)).not.toContain('three');
  });

  test('the message says that two fields that differ only in case are one column in MySQL', async () => {
    const batch = batchOf(
      [
        { name: 'Rooms', type: 'text' },
        { name: 'rooms', type: 'text' },
      ],
      mapped(1, { Rooms: '1', rooms: '2' }),
    );
    expect((await failure(open().deliver(batch, NEVER))).message).toContain(
      '`Rooms` and `rooms` are one column',
    );
  });

  test('a user that may not add columns gets the statement that an administrator has to run', async () => {
    await open().deliver(aBatch(1), NEVER);
    const { url } = await database.addUser('SELECT, INSERT, UPDATE, DELETE');
    const batch = batchOf([{ name: 'rooms', type: 'bigint' }], mapped(2, { rooms: 3n }));
    const error = await failure(open(url).deliver(batch, NEVER));
    expect((await failure(open(url).check(NEVER, batch.columns))).hint).toBe(error.hint);
    await database.query(error.hint.replace('Run as an administrator: ', ''));
    await open(url).check(NEVER, batch.columns);
    expect(kinds(await open(url).deliver(batch, NEVER))).toEqual(['delivered']);
  });

  test('sinks that add the same columns at the same time all deliver', async () => {
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
      { id: 1, rooms: null },
      { id: 2, rooms: 3 },
    ]);
  });
});
