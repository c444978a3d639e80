import { describe, expect, test } from 'vitest';
import { mayHaveArrived } from '../../../src/leads/outcome.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { closedPort } from '../ports.ts';
import { startKafkaStub } from './kafka-stub.ts';
import { openKafka } from './open-kafka.ts';
import { deliver, failureOf, leads, NEVER, open, startStub } from './stub-scene.ts';

const WRITE = 1 << 4;
const DESCRIBE = 1 << 8;

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

  test('after a change of leaders, the next attempt requests the new leaders', async () => {
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

  test('a partition without a leader delays no other', async () => {
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

  test('an answer that arrived while the process was too busy to read it counts, although the deadline has passed', async () => {
    const stub = await startStub();
    const timeoutMs = 2_000;
    stub.answerProduce((_, partition) => {
      const blockProcess = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs);
      if (partition === 0) setImmediate(blockProcess); // once the answer is written
      return undefined;
    });
    const outcomes = await deliver(open(stub, {}, { timeoutMs }));
    expect(outcomes.every(({ kind }) => kind === 'delivered')).toBe(true);
  });

  test('of partitions that all fail, one that may have its records counts for every lead', async () => {
    const stub = await startStub();
    stub.answerProduce((_, partition) =>
      partition === 2 ? 'REQUEST_TIMED_OUT' : 'TOPIC_AUTHORIZATION_FAILED',
    );
    const error = await failureOf(deliver(open(stub)));
    expect(mayHaveArrived(error.toOutcome())).toBe(true);
    stub.answerProduce(() => 'TOPIC_AUTHORIZATION_FAILED');
    expect(mayHaveArrived((await failureOf(deliver(open(stub)))).toOutcome())).toBe(false);
  });

  test('an answer that leaves out a partition counts only for the records of the others', async () => {
    const stub = await startStub();
    stub.answerProduce('half');
    const outcomes = await deliver(open(stub));
    const unsure = outcomes.filter(({ kind }) => kind !== 'delivered');
    expect(unsure.length).toBeGreaterThan(0);
    expect(unsure.length).toBeLessThan(30);
    for (const outcome of unsure) {
      expect(outcome.kind).toBe('unavailable');
      expect(mayHaveArrived(outcome)).toBe(true);
    }
  });

  test('a broker that asks for a pause gets no request before its end', async () => {
    const clock = new HeldClock();
    const stub = await startStub();
    const sink = open(stub, {}, { clock, timeoutMs: 15_000 });
    const produced = () => stub.requests.filter((name) => name === 'Produce').length;
    stub.throttleMs = 5_000;
    expect((await deliver(sink)).every(({ kind }) => kind === 'delivered')).toBe(true);
    stub.throttleMs = 0;
    const waits = deliver(sink);
    await clock.pass(4_999);
    expect(produced()).toBe(1);
    await clock.pass(1);
    await waits;
    stub.throttleMs = 60_000;
    await deliver(sink);
    const error = await failureOf(deliver(sink));
    expect(error.message).toContain('asked for a pause');
    expect(error).toMatchObject({ unsent: true, retryAfterMs: 60_000 });
    expect(produced()).toBe(3);
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

  test('the sink asks the next broker if one cannot be reached', async () => {
    const stub = await startStub();
    const brokers = `127.0.0.1:${closedPort},${stub.address}`;
    expect((await deliver(open({ address: brokers }))).every(({ kind }) => kind === 'delivered')).toBe(true);
    const none = open({ address: `127.0.0.1:${closedPort},localhost:${closedPort}` });
    expect((await failureOf(none.check(NEVER))).message).toBe(
      `None of the 2 brokers can be used. 127.0.0.1:${closedPort} refuses the connection (ECONNREFUSED).`,
    );
  });

  test('the error for a broker that names an unreachable address says so', async () => {
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
  ])('%s is reported with the next step, and nothing is sent', async (code, hint) => {
    const stub = await startStub();
    stub.topics.set('leads', { partitions: 3, code });
    for (const error of [await failureOf(open(stub).check(NEVER)), await failureOf(deliver(open(stub)))]) {
      expect(error.message).toBe(`${stub.address} answered ${code} for topic leads.`);
      expect(error.hint).toMatch(hint);
      expect(error.toOutcome().unsent).toBe(true);
    }
    expect(stub.requests).not.toContain('Produce');
  });

  test('a topic that is missing for one lead delays no other', async () => {
    const stub = await startStub();
    const elsewhere = aDelivery({ leadId: 99n, perLead: new Map([['topic_by', 'elsewhere']]) });
    const outcomes = await deliver(open(stub), [elsewhere, ...leads(3)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['unavailable', 'delivered', 'delivered', 'delivered']);
  });

  test('`create` creates a missing topic, once; a check only verifies that this would work', async () => {
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

  test('a topic that leadsync may not create is reported', async () => {
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
