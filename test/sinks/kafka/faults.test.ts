import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { type Sink, type SinkParts, SinkUnavailable } from '../../../src/sinks/sink.ts';
import { selfSigned } from '../../faults/sinks/certificate.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { closedPort } from '../ports.ts';
import { type KafkaStub, startKafkaStub } from './kafka-stub.ts';
import { openKafka } from './open-kafka.ts';

const NEVER = new AbortController().signal;
const WRITE = 1 << 4;
const DESCRIBE = 1 << 8;

type Options = Partial<Parameters<typeof openKafka>[0]>;

async function startStub(options: Parameters<typeof startKafkaStub>[0] = {}): Promise<KafkaStub> {
  const stub = await startKafkaStub(options);
  onTestFinished(() => stub.close());
  return stub;
}

function open(stub: Pick<KafkaStub, 'address'>, options: Options = {}, parts: Partial<SinkParts> = {}): Sink {
  const sink = openKafka({ brokers: stub.address, ...options }, parts);
  onTestFinished(() => sink.close());
  return sink;
}

async function failureOf(work: Promise<unknown>): Promise<SinkUnavailable> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SinkUnavailable)) throw new Error(`it did not fail as expected: ${error}`);
  return error;
}

function leads(count: number): readonly Delivery[] {
  return Array.from({ length: count }, (_, index) => aDelivery({ leadId: BigInt(index + 1) }));
}

function deliver(sink: Sink, deliveries: readonly Delivery[] = leads(30)): Promise<readonly Outcome[]> {
  return sink.deliver(aBatch(deliveries), NEVER);
}

describe('records', () => {
  test('a batch is one request, and batches share a connection', async () => {
    const stub = await startStub();
    const sink = open(stub);
    for (const _ of [1, 2, 3]) await deliver(sink);
    expect(stub.requests.filter((name) => name === 'Produce')).toHaveLength(3);
    expect(stub.connections).toBe(1);
    expect(stub.stored).toHaveLength(90);
    expect(stub.faults).toEqual([]);
  });

  test('each partition has its own outcome', async () => {
    const stub = await startStub();
    stub.answerProduce((_, partition) => (partition === 1 ? 'NOT_ENOUGH_REPLICAS' : undefined));
    const sink = open(stub);
    const outcomes = await deliver(sink);
    const failed = outcomes.filter(({ kind }) => kind !== 'delivered');
    expect(failed.length).toBeGreaterThan(0);
    expect(outcomes.length - failed.length).toBe(stub.stored.length);
    for (const outcome of failed)
      expect(outcome).toMatchObject({
        kind: 'unavailable',
        reason: expect.stringMatching(
          /answered NOT_ENOUGH_REPLICAS for topic leads, partition 1\. .*min\.insync/,
        ),
        mayHaveArrived: false,
      });
    expect((await deliver(sink)).every(({ kind }) => kind === 'delivered')).toBe(true);
  });

  test('one record that is too large is refused alone among 200', async () => {
    const stub = await startStub();
    stub.topics.set('leads', { partitions: 3, maxBytes: 100_000 });
    const long = aLead({ id: 77n, all_details_one_liner: 'x'.repeat(200_000) });
    const batch = leads(200).with(76, aDelivery({ leadId: 77n, raw: long }));
    const outcomes = await deliver(open(stub), batch);
    expect(outcomes.flatMap(({ kind }, index) => (kind === 'delivered' ? [] : [index]))).toEqual([76]);
    expect(outcomes[76]).toMatchObject({
      kind: 'refused',
      reason: expect.stringMatching(
        /refused the record of 20\d{4} bytes .*MESSAGE_TOO_LARGE.*max\.message\.bytes/,
      ),
    });
    expect(new Set(stub.stored.map(({ key }) => key)).size).toBe(199);
    expect(stub.stored).toHaveLength(199);
  });

  test('records for one partition leave in requests below the default limit of a topic', async () => {
    const stub = await startStub();
    stub.topics.set('leads', { partitions: 1 });
    const details = 'y'.repeat(150_000);
    const batch = leads(20).map(({ leadId }) =>
      aDelivery({ leadId, raw: aLead({ id: leadId, all_details_one_liner: details }) }),
    );
    expect((await deliver(open(stub), batch)).every(({ kind }) => kind === 'delivered')).toBe(true);
    expect(stub.requests.filter((name) => name === 'Produce')).toHaveLength(4);
    expect(stub.stored.map(({ key }) => key)).toEqual(batch.map(({ leadId }) => `main:${leadId}`));
  });

  test('nothing later for a partition leaves after a failure', async () => {
    const stub = await startStub();
    stub.topics.set('leads', { partitions: 1 });
    stub.answerProduce('store', () => 'NOT_LEADER_OR_FOLLOWER');
    const details = 'y'.repeat(400_000);
    const batch = leads(6).map(({ leadId }) =>
      aDelivery({ leadId, raw: aLead({ id: leadId, all_details_one_liner: details }) }),
    );
    const outcomes = await deliver(open(stub), batch);
    const told = outcomes.map((outcome) => [outcome.kind, 'unsent' in outcome && outcome.unsent === true]);
    expect(told).toEqual([
      ['delivered', false],
      ['delivered', false],
      ['unavailable', false],
      ['unavailable', false],
      ['unavailable', true],
      ['unavailable', true],
    ]);
    expect(stub.stored.map(({ key }) => key)).toEqual(['main:1', 'main:2']);
  });

  test('after a change of leaders, the next attempt asks who leads', async () => {
    const stub = await startStub();
    const sink = open(stub);
    await deliver(sink);
    const asked = () => stub.requests.filter((name) => name === 'Metadata').length;
    expect(asked()).toBe(1);
    stub.answerProduce(() => 'NOT_LEADER_OR_FOLLOWER');
    const error = await failureOf(deliver(sink));
    expect(error.toOutcome()).toMatchObject({ mayHaveArrived: true, unsent: false });
    await deliver(sink);
    expect(asked()).toBe(2);
    expect(stub.stored).toHaveLength(60);
  });

  test('a partition without a leader holds up no other', async () => {
    const stub = await startStub();
    stub.topics.set('leads', { partitions: 3, leaderless: [2] });
    const outcomes = await deliver(open(stub));
    const failed = outcomes.filter((outcome) => outcome.kind === 'unavailable');
    expect(failed.length).toBe(30 - stub.stored.length);
    expect(failed[0]).toMatchObject({ unsent: true, reason: expect.stringContaining('partition 2') });
    expect(stub.stored.length).toBeGreaterThan(0);
    expect((await failureOf(open(stub).check(NEVER))).message).toContain('LEADER_NOT_AVAILABLE');
  });

  test('a broker that stops and starts again is used again', async () => {
    const stub = await startKafkaStub();
    const sink = open(stub);
    await deliver(sink);
    await stub.close();
    // The first request may still leave on the connection that is about to end.
    await failureOf(deliver(sink));
    const error = await failureOf(deliver(sink));
    expect(error.toOutcome().unsent).toBe(true);
    expect(error.message).toBe(`${stub.address} refuses the connection (ECONNREFUSED).`);
    const again = await startStub({ port: Number(stub.address.split(':')[1]) });
    expect((await deliver(sink)).every(({ kind }) => kind === 'delivered')).toBe(true);
    expect(again.stored).toHaveLength(30);
  });

  test('a broker that does not answer in time may have the records', async () => {
    const stub = await startStub();
    stub.answerProduce('silent');
    const error = await failureOf(deliver(open(stub, {}, { timeoutMs: 300 })));
    expect(error.message).toBe(`${stub.address} did not answer within 0.3 s.`);
    expect(error.toOutcome().unsent).toBe(false);
  });

  test('closing a sink ends an attempt that waits for an answer', async () => {
    const stub = await startStub();
    stub.answerProduce('silent');
    const sink = openKafka({ brokers: stub.address });
    const failed = failureOf(deliver(sink));
    await expect.poll(() => stub.requests).toContain('Produce');
    await sink.close();
    expect((await failed).message).toBe(`${stub.address} closed the connection.`);
  });

  test('the next broker is asked if one cannot be reached', async () => {
    const stub = await startStub();
    const brokers = `127.0.0.1:${closedPort},${stub.address}`;
    expect((await deliver(open({ address: brokers }))).every(({ kind }) => kind === 'delivered')).toBe(true);
    const none = open({ address: `127.0.0.1:${closedPort},localhost:${closedPort}` });
    expect((await failureOf(none.check(NEVER))).message).toBe(
      `None of the 2 brokers can be used. 127.0.0.1:${closedPort} refuses the connection (ECONNREFUSED).`,
    );
  });

  test('a broker that names an address where nobody is, is told apart', async () => {
    const stub = await startStub();
    stub.advertised = { host: '127.0.0.1', port: closedPort };
    const error = await failureOf(open(stub).check(NEVER));
    expect(error.message).toBe(`127.0.0.1:${closedPort} refuses the connection (ECONNREFUSED).`);
    expect(error.hint).toContain(`${stub.address} named this address: check \`advertised.listeners\``);
  });
});

describe('the topic', () => {
  test.each([
    [
      'UNKNOWN_TOPIC_OR_PARTITION',
      /Create it \(kafka-topics\.sh --create --topic leads\), or set `create: true`/,
    ],
    ['TOPIC_AUTHORIZATION_FAILED', /kafka-acls\.sh --add --allow-principal User:ANONYMOUS --operation Write/],
  ])('%s is told with what to do, and nothing is sent', async (code, hint) => {
    const stub = await startStub();
    stub.topics.set('leads', { partitions: 3, code });
    for (const error of [await failureOf(open(stub).check(NEVER)), await failureOf(deliver(open(stub)))]) {
      expect(error.message).toBe(`${stub.address} answered ${code} for topic leads.`);
      expect(error.hint).toMatch(hint);
      expect(error.toOutcome().unsent).toBe(true);
    }
    expect(stub.requests).not.toContain('Produce');
  });

  test('a topic that is missing for one lead holds up no other', async () => {
    const stub = await startStub();
    const elsewhere = aDelivery({ leadId: 99n, perLead: new Map([['topic_by', 'elsewhere']]) });
    const outcomes = await deliver(open(stub), [elsewhere, ...leads(3)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['unavailable', 'delivered', 'delivered', 'delivered']);
  });

  test('`create` makes a missing topic, once; a check only asks whether that would work', async () => {
    const stub = await startStub();
    stub.topics.clear();
    const sink = open(stub, { create: true, partitions: 7 });
    await sink.check(NEVER);
    expect([...stub.topics]).toEqual([]);
    await Promise.all([deliver(sink), deliver(sink)]);
    expect([...stub.topics]).toEqual([['leads', { partitions: 7 }]]);
    expect(stub.stored).toHaveLength(60);
    expect(stub.faults).toEqual([]);
  });

  test('a topic that leadsync may not create is told', async () => {
    const stub = await startStub();
    stub.topics.clear();
    stub.createCode = 'CLUSTER_AUTHORIZATION_FAILED';
    const sink = open(stub, { create: true });
    for (const error of [await failureOf(sink.check(NEVER)), await failureOf(deliver(sink))])
      expect(`${error.message} ${error.hint}`).toMatch(/CLUSTER_AUTHORIZATION_FAILED.*operation Create/);
  });

  test('a check reports that the user may not write, if the broker says so', async () => {
    const stub = await startStub();
    stub.rights = DESCRIBE | WRITE;
    await open(stub).check(NEVER);
    stub.rights = DESCRIBE;
    expect((await failureOf(open(stub).check(NEVER))).message).toContain('TOPIC_AUTHORIZATION_FAILED');
    stub.rights = undefined;
    await open(stub).check(NEVER);
    expect(stub.stored).toEqual([]);
  });
});

describe('login and TLS', () => {
  const username = 'leadsync';
  const password = 'p4ssw0rd,=x';

  test.each([
    ['plain', 'PLAIN'],
    ['scram-sha-256', 'SCRAM-SHA-256'],
    ['scram-sha-512', 'SCRAM-SHA-512'],
  ] as const)('leadsync logs in with %s, and a wrong password is told', async (sasl, mechanism) => {
    const stub = await startStub({ login: { mechanism, username, password } });
    expect(await deliver(open(stub, { sasl, username, password }), leads(1))).toMatchObject([
      { kind: 'delivered' },
    ]);
    const error = await failureOf(open(stub, { sasl, username, password: 'wr0ng' }).check(NEVER));
    expect(error.message).toBe(`${stub.address} does not accept the login.`);
    expect(`${error.message}${error.hint}`).not.toMatch(/wr0ng|p4ssw0rd/);
    expect(stub.faults).toEqual([]);
  });

  test('a mechanism that the broker does not offer is told with those that it offers', async () => {
    const stub = await startStub({ login: { mechanism: 'SCRAM-SHA-512', username, password } });
    const error = await failureOf(open(stub, { username, password }).check(NEVER));
    expect(error.message).toBe(
      `${stub.address} does not offer the SASL mechanism of \`sasl\`: it offers SCRAM-SHA-512.`,
    );
  });

  test('a broker that wants a login and gets none closes the connection', async () => {
    const stub = await startStub({ login: { mechanism: 'PLAIN', username, password } });
    const error = await failureOf(open(stub).check(NEVER));
    expect(error.message).toBe(`${stub.address} closed the connection.`);
    expect(error.hint).toContain('The port may need `tls: true`, or `username` and `password`.');
  });

  test.each(['', 'nonsense', 'r=x,s=,i=0', 'r=x'])(
    'a broker that answers a login with "%s" ends nothing but the attempt',
    async (nonsense) => {
      const stub = await startStub({ login: { mechanism: 'SCRAM-SHA-256', username, password, nonsense } });
      const sink = open(stub, { sasl: 'scram-sha-256', username, password }, { timeoutMs: 2_000 });
      const error = await failureOf(sink.check(NEVER));
      expect(error.message).toContain(stub.address);
      expect(error.hint).not.toBe('');
    },
  );

  test('TLS works with a certificate of a known authority, and another one is told', async () => {
    const certificate = selfSigned('kafka');
    const stub = await startStub({ certificate });
    expect(await deliver(open(stub, { tls: true, tls_ca: certificate.cert }), leads(1))).toMatchObject([
      { kind: 'delivered' },
    ]);
    const error = await failureOf(open(stub, { tls: true }).check(NEVER));
    expect(error.message).toContain('has a self-signed TLS certificate');
  });

  test('TLS to a port without it, and the reverse, are told', async () => {
    const plain = await startStub();
    const withTls = await failureOf(open(plain, { tls: true }, { timeoutMs: 2_000 }).check(NEVER));
    expect(withTls.message).toBe(`${plain.address} closed the connection during the TLS handshake.`);
    const encrypted = await startStub({ certificate: selfSigned('kafka') });
    const without = await failureOf(open(encrypted, {}, { timeoutMs: 2_000 }).check(NEVER));
    expect(`${without.message} ${without.hint}`).toContain('`tls: true`');
  });

  test('a broker that answers with an alert of TLS is told', async () => {
    const alert = Buffer.of(0x15, 3, 3, 0, 2, 2, 70); // RFC 8446, section 6: protocol_version
    const server = createServer((socket) => socket.once('data', () => socket.end(alert)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const error = await failureOf(open({ address }).check(NEVER));
    expect(`${error.message} ${error.hint}`).toBe(`${address} requires TLS. Set \`tls: true\`.`);
  });

  test.each(['HTTP/1.1 400 Bad Request\r\n\r\n', '\0\0\0\u0004\0\0\0\u0001', '\0\0\0\u0008\0\0\0\u0009abcd'])(
    'another program on the port is told: %j',
    async (answer) => {
      const server = createServer((socket) => socket.once('data', () => socket.end(answer)));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      const error = await failureOf(open({ address }).check(NEVER));
      expect(error.message).toMatch(/ (closed the connection|does not answer as Kafka does)\.$/);
    },
  );
});
