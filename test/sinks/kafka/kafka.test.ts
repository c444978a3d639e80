import { murmur2 } from '@platformatic/kafka';
import { expect, onTestFinished, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { WITHOUT_LEASE } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { startKafkaBroker } from '../../support/servers/kafka-broker.ts';
import { givingFields, rulesOf } from '../giving-fields.ts';
import { givingValues } from '../giving-values.ts';
import { openKafka } from './open-kafka.ts';

const NEVER = new AbortController().signal;

/** Opens a sink for a real broker of its own. Both are closed after the test. */
async function openWithBroker(
  options: Partial<Parameters<typeof openKafka>[0]> = {},
  parts: Partial<SinkParts> = {},
) {
  const broker = await startKafkaBroker();
  const sink = openKafka({ brokers: broker.address, ...options }, parts);
  onTestFinished(async () => {
    await sink.close();
    await broker.close();
  });
  return { broker, sink };
}

const erased = (leadId: bigint): Delivery =>
  aDelivery({ leadId, id: `erased_${leadId}`, event: 'erased', raw: `{"id":${leadId}}` });

async function kindsOf(sink: Sink, deliveries: readonly Delivery[]): Promise<readonly string[]> {
  return (await sink.deliver(aBatch(deliveries), NEVER)).map(({ kind }) => kind);
}

test('a record has the key, the headers, the time and the body that the documentation names', async () => {
  const now = new Date('2026-11-24T09:30:00.000Z');
  const clock = { now: () => now, monotonicMs: () => performance.now(), sleep: async () => undefined };
  const { broker, sink } = await openWithBroker({}, { clock });
  const delivery = aDelivery({ leadId: 9_007_199_254_740_993n, id: 'stream:main:1', replay: true });
  const under = { ...WITHOUT_LEASE, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  const [outcome] = await sink.deliver(aBatch([delivery]), NEVER, under);
  const [record] = await broker.records('leads');
  expect(record).toMatchObject({
    key: 'main:9007199254740993',
    ts: now.getTime(),
    headers: { 'webhook-id': 'stream:main:1', type: 'lead.created', traceparent: under.traceparent },
  });
  expect(record?.payload).toBe(
    `{"type":"lead.created","timestamp":"2026-11-20T10:00:00.000Z","data":${delivery.raw},"source":"main","replay":true}`,
  );
  const ref = { object: 'record', id: `leads/${record?.partition}/${record?.offset}` };
  expect(outcome).toEqual({ kind: 'delivered', ref });
});

test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'another client reads records compressed with %s',
  async (compression) => {
    const { broker, sink } = await openWithBroker({ compression });
    const deliveries = Array.from({ length: 40 }, (_, index) => aDelivery({ leadId: BigInt(index + 1) }));
    expect(new Set(await kindsOf(sink, deliveries))).toEqual(new Set(['delivered']));
    const records = await broker.records('leads');
    expect(new Set(records.map(({ key }) => key))).toEqual(
      new Set(deliveries.map(({ leadId }) => `main:${leadId}`)),
    );
    for (const { payload } of records) expect(JSON.parse(payload ?? '').data.client_name).toBe('Anna Müller');
  },
);

test('the records of a lead are in one partition, in order', async () => {
  const { broker, sink } = await openWithBroker();
  for (const version of [1, 2, 3])
    await sink.deliver(
      aBatch(
        [1n, 2n, 3n].map((leadId) =>
          aDelivery({ leadId, version, event: version > 1 ? 'updated' : 'created' }),
        ),
      ),
      NEVER,
    );
  const records = await broker.records('leads');
  for (const key of ['main:1', 'main:2', 'main:3']) {
    const own = records.filter((record) => record.key === key);
    expect(new Set(own.map(({ partition }) => partition)).size).toBe(1);
    const id = key.replace('main:', 'dlv_');
    expect(own.map(({ headers }) => headers['webhook-id'])).toEqual([`${id}_1`, `${id}_2`, `${id}_3`]);
  }
});

// The values of org.apache.kafka.common.utils.UtilsTest.
test.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])("the hash of a key %s is that of Kafka's own clients", (key, expected) => {
  expect(murmur2(Buffer.from(key))).toBe(expected);
});

test('an erased lead is an event with its id, or a record without a value', async () => {
  const { broker, sink } = await openWithBroker();
  const tombstones = openKafka({ brokers: broker.address, topic: 'compacted', tombstones: true });
  onTestFinished(() => tombstones.close());
  expect(await kindsOf(sink, [erased(42n)])).toEqual(['delivered']);
  expect(await kindsOf(tombstones, [aDelivery(), erased(42n)])).toEqual(['delivered', 'delivered']);
  const [event] = await broker.records('leads');
  expect(JSON.parse(event?.payload ?? '')).toMatchObject({ type: 'lead.erased', data: { id: 42 } });
  const [first, second] = await broker.records('compacted');
  expect(first?.payload).toContain('"type":"lead.created"');
  const headers = { 'webhook-id': 'erased_42', type: 'lead.erased' };
  expect(second).toMatchObject({ key: 'main:42', payload: null, headers });
  expect(tombstones.preview(aBatch([erased(42n)]))).toEqual([
    { target: expect.stringContaining('compacted'), fields: { key: 'main:42', ...headers, value: null } },
  ]);
});

test('the data of a mapped lead are its fields', async () => {
  const { broker, sink } = await openWithBroker();
  const mapped = givingFields(sink, rulesOf({}, { id: 'lead.id', 'client.name': 'lead.client_name' }));
  await mapped.deliver(aBatch(1), NEVER);
  const [record] = await broker.records('leads');
  expect(record?.payload).toContain('"data":{"id":1,"client":{"name":"Anna Müller"}}');
});

test('`topic_by` chooses the topic of each lead, and a name that cannot be one refuses that lead alone', async () => {
  const { broker, sink } = await openWithBroker();
  const choose = ['by-service', '', 'no topic'].map((topic, index) =>
    aDelivery({ leadId: BigInt(index + 1), perLead: new Map([['topic_by', topic]]) }),
  );
  const outcomes = await sink.deliver(aBatch(choose), NEVER);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'refused']);
  expect((await broker.records('by-service')).map(({ key }) => key)).toEqual(['main:1']);
  expect((await broker.records('leads')).map(({ key }) => key)).toEqual(['main:2']);
  const [, , preview] = sink.preview(aBatch(choose));
  expect(preview?.target).toBe('no record');
});

test('a test event says where it is', async () => {
  const { broker, sink } = await openWithBroker();
  const values = givingValues(sink, {});
  const { arrived, what } = await values.test(aBatch([aDelivery({ id: 'test:1', leadId: 0n })]), NEVER);
  const [record] = await broker.records('leads');
  expect({ arrived, type: record?.headers['type'] }).toEqual({ arrived: true, type: 'lead.test' });
  expect(what).toContain(`at leads/${record?.partition}/0 (topic, partition, offset)`);
});
