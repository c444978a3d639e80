import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { attemptParts } from '../../../src/sinks/attempt-parts.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { LeaseOver, SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { selfSigned } from '../../support/servers/certificate.ts';
import {
  type ReceivedRequest,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../support/servers/webhook-receiver.ts';
import { until } from '../../support/time/until.ts';
import { closedPort } from '../ports.ts';
import { openWebhook } from './open-webhook.ts';

const NEVER = new AbortController().signal;
const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const previous = `whsec_${Buffer.alloc(24, 2).toString('base64')}`;

let receiver: WebhookReceiver;
const sinks: Sink[] = [];

beforeEach(async () => {
  receiver = await startWebhookReceiver();
});

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await receiver.close();
});

const open: typeof openWebhook = (options, parts) => {
  const sink = openWebhook(options, parts);
  sinks.push(sink);
  return sink;
};

const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error as SinkUnavailable,
  );

/** Lets a server listen on loopback. Gives the port. */
async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The last request. */
function last(): ReceivedRequest {
  return receiver.received.at(-1) ?? expect.fail('no request arrived');
}

describe('a request', () => {
  test('whose connection opens after the lease has ended is not sent', async () => {
    let [connected, bytes] = [false, 0];
    const server = createServer((socket) => {
      connected = true;
      socket.on('data', (data) => {
        bytes += data.length;
      });
    });
    const port = await listening(server);
    // The server never answers: the deadline ends a request that was sent after all.
    const sink = open({ url: `http://127.0.0.1:${port}/`, secret }, { timeoutMs: 5_000 });
    let looks = 0;
    const confirmLease = () => {
      looks += 1;
      if (looks > 1) throw new LeaseOver();
    };
    const under = { timeLeftMs: () => 60_000, confirmLease };
    expect(await failure(sink.deliver(aBatch(1), NEVER, under))).toBeInstanceOf(SinkUnavailable);
    await until('the connection is there', () => connected);
    await sink.close();
    server.close();
    await once(server, 'close'); // after all that was written to it has been read
    expect({ looks, bytes }).toEqual({ looks: 2, bytes: 0 });
  });

  test('has the documented body, with the lead inserted as it was received', async () => {
    const raw = '{ "id":9007199254740993,\n  "n": 1.0e2, "client_name":"\\u0041\\ud800" }';
    await open({ url: receiver.url }).deliver(aBatch([aDelivery({ raw })]), NEVER);
    expect(last().body.toString()).toBe(
      `{"type":"lead.created","timestamp":"2026-11-20T10:00:00.000Z","data":${raw},"source":"main","replay":false}`,
    );
    expect(last()).toMatchObject({ method: 'POST', path: '/hooks/leads' });
    expect(last().headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'leadsync/test',
      'webhook-id': 'dlv_42_1',
    });
  });

  test('has the time of a change, and marks a replay', async () => {
    const changed = aDelivery({
      event: 'updated',
      version: 2,
      changedAt: new Date('2026-11-21T08:00:00Z'),
      replay: true,
    });
    await open({ url: receiver.url }).deliver(aBatch([changed]), NEVER);
    expect(JSON.parse(last().body.toString())).toMatchObject({
      type: 'lead.updated',
      timestamp: '2026-11-21T08:00:00.000Z',
      replay: true,
    });
  });

  test('is signed so that a Standard Webhooks library accepts it', async () => {
    await open({ url: receiver.url, secret }).deliver(aBatch(1), NEVER);
    const { body, headers } = last();
    expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
    expect(() => new Webhook(previous).verify(body, headers as Record<string, string>)).toThrow();
  });

  test('is signed twice while a secret is rotated', async () => {
    await open({ url: receiver.url, secret, previous_secret: previous }).deliver(aBatch(1), NEVER);
    const { body, headers } = last();
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2);
    for (const key of [secret, previous]) {
      expect(() => new Webhook(key).verify(body, headers as Record<string, string>)).not.toThrow();
    }
  });

  test('is not signed without a secret', async () => {
    await open({ url: receiver.url }).deliver(aBatch(1), NEVER);
    expect(last().headers['webhook-signature']).toBeUndefined();
  });

  test('has the same id and body at every attempt, and the time of the attempt', async () => {
    const times = [new Date('2026-11-20T11:00:00Z'), new Date('2026-11-20T12:00:00Z')];
    for (const now of times) {
      const sink = open({ url: receiver.url }, { clock: { ...systemClock, now: () => now } });
      await sink.deliver(aBatch(1), NEVER);
    }
    const [first, second] = receiver.received;
    expect(second?.body).toEqual(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).toEqual(
      times.map((time) => String(time.getTime() / 1000)),
    );
  });

  test('carries the configured headers', async () => {
    await open({ url: receiver.url, headers: { Authorization: 'Bearer abc' } }).deliver(aBatch(1), NEVER);
    expect(last().headers.authorization).toBe('Bearer abc');
  });

  test('uses a connection that stays open', async () => {
    const sink = open({ url: receiver.url }, { concurrency: 1 });
    const ports = new Set<number | undefined>();
    receiver.answerAlways((_, res) => {
      ports.add(res.socket?.remotePort);
      res.end('{"ok":true}');
    });
    for (let round = 0; round < 5; round += 1) await sink.deliver(aBatch(1), NEVER);
    expect(ports.size).toBe(1);
  });
});

describe('batches', () => {
  const openBatched = () => open({ url: receiver.url, secret }, { batchMax: 100 });
  const leadsIn = ({ body }: ReceivedRequest) =>
    JSON.parse(body.toString()).events.map(({ data }: { data: { id: number } }) => data.id);

  test('are sent as one message, each event with the id of its delivery', async () => {
    await openBatched().deliver(aBatch(2), NEVER);
    const message = JSON.parse(last().body.toString());
    expect(message).toMatchObject({ type: 'lead.batch', timestamp: '2026-11-20T10:00:01.000Z' });
    expect(message.events.map(({ id, type }: { id: string; type: string }) => [id, type])).toEqual([
      ['dlv_1_1', 'lead.created'],
      ['dlv_2_1', 'lead.created'],
    ]);
  });

  test('may have one lead', async () => {
    await openBatched().deliver(aBatch(1), NEVER);
    expect(JSON.parse(last().body.toString()).type).toBe('lead.batch');
  });

  test('of other leads have other ids, even if a new ledger numbers its batches from 1', async () => {
    await openBatched().deliver(aBatch(2), NEVER);
    await openBatched().deliver(aBatch([aDelivery({ leadId: 3n }), aDelivery({ leadId: 4n })]), NEVER);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  });

  test('are halved until the refused lead is alone; the others arrive', async () => {
    receiver.answerAlways((request, res) => {
      res.statusCode = leadsIn(request).includes(6) ? 422 : 204;
      res.end();
    });
    const outcomes = await openBatched().deliver(aBatch(9), NEVER);
    expect(outcomes.map(({ kind }) => kind === 'refused')).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 9].map((id) => id === 6),
    );
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(ids.length);
    const requests = receiver.received.length;
    await openBatched().deliver(aBatch(9), NEVER);
    expect(receiver.received.slice(requests).map(({ headers }) => headers['webhook-id'])).toEqual(ids);
  });

  test('are not tried further after five leads were refused alone and none was accepted', async () => {
    receiver.answerAlways((_, res) => {
      res.statusCode = 422;
      res.end();
    });
    const sink = open({ url: receiver.url, secret }, { batchMax: 500 });
    const outcomes = await sink.deliver(aBatch(500), NEVER);
    const kinds = outcomes.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'untried')).toHaveLength(495);
    expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(5);
    expect(receiver.received.length).toBeLessThan(50);
    const alone = open({ url: receiver.url, secret }, { batchMax: 1 });
    const before = receiver.received.length;
    expect((await alone.deliver(aBatch(7), NEVER)).map(({ kind }) => kind)).toEqual([
      ...Array(5).fill('refused'),
      ...Array(2).fill('untried'),
    ]);
    expect(receiver.received.length - before).toBe(5);
  });

  test('are tried to the end if one lead is accepted', async () => {
    receiver.answerAlways((request, res) => {
      res.statusCode = leadsIn(request).join() === '1' ? 204 : 422;
      res.end();
    });
    const outcomes = await openBatched().deliver(aBatch(20), NEVER);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', ...Array(19).fill('refused')]);
  });

  test('arrive beyond their first refused leads, however many those are', async () => {
    receiver.answerAlways((request, res) => {
      res.statusCode = leadsIn(request).some((lead: number) => lead <= 30) ? 422 : 204;
      res.end();
    });
    const outcomes = await openBatched().deliver(aBatch(100), NEVER);
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      ...Array(30).fill('refused'),
      ...Array(70).fill('delivered'),
    ]);
  });

  test('keep the leads that arrived if the receiver becomes unavailable midway', async () => {
    receiver.answerNext(413, 204, 503);
    const outcomes = await openBatched().deliver(aBatch(4), NEVER);
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      'delivered',
      'delivered',
      'unavailable',
      'unavailable',
    ]);
    expect(receiver.received).toHaveLength(3);
  });

  test('that are refused as a whole before the receiver is unavailable do not count as never sent', async () => {
    receiver.answerNext(413, 401);
    const outcomes = await openBatched().deliver(aBatch(4), NEVER);
    const answered = { kind: 'unavailable', httpStatus: 401, unsent: false };
    expect(outcomes).toMatchObject([answered, answered, { kind: 'untried' }, { kind: 'untried' }]);
    const broken = new SinkUnavailable('It cannot be reached.', { hint: '', unsent: true });
    const whole = { kind: 'refused', reason: 'It is too large.' } as const;
    const refusesWhole = (error: SinkUnavailable) => (part: readonly number[]) =>
      part.length > 2 ? Promise.resolve(whole) : Promise.reject(error);
    const [first, , last] = await attemptParts([[1, 2, 3, 4], [5]], refusesWhole(broken));
    expect(first).toMatchObject({ kind: 'unavailable', unsent: false, mayHaveArrived: false });
    expect(last).toEqual({ kind: 'untried' });
    expect(await attemptParts([[1, 2, 3, 4], [5]], refusesWhole(new LeaseOver()))).toEqual([
      ...Array(4).fill({ kind: 'untried' }),
      expect.objectContaining({ kind: 'unavailable', unsent: true }),
    ]);
    const local = (part: readonly number[]) =>
      part.length > 2 ? Promise.resolve({ ...whole, unsent: true }) : Promise.reject(broken);
    await expect(attemptParts([[1, 2, 3, 4]], local)).rejects.toBe(broken);
  });
});

describe('answers', () => {
  test('a redirect is not followed', async () => {
    receiver.answerNext({ status: 307, headers: { location: '/elsewhere' } });
    const error = await failure(open({ url: receiver.url }).deliver(aBatch(1), NEVER));
    expect(error).toMatchObject({ httpStatus: 307 });
    expect(receiver.received).toHaveLength(1);
  });

  test('at most 1,000 characters of a refusal are stored, and none are logged', async () => {
    receiver.answerNext({ status: 422, body: 'no '.repeat(10_000) });
    const [outcome] = await open({ url: receiver.url }).deliver(aBatch(1), NEVER);
    expect(outcome).toMatchObject({ kind: 'refused', httpStatus: 422 });
    const { answer, reason } = outcome as { answer: string; reason: string };
    expect(answer).toHaveLength(1000);
    expect(reason).not.toContain('no no');
  });

  test('the text of an acceptance is stored only if every answer is', async () => {
    const body = '{"record":"D-17"}';
    const outcomeWith = async (options: object) => {
      receiver.answerNext({ status: 201, body });
      const [outcome] = await open({ url: receiver.url, ...options }).deliver(aBatch(1), NEVER);
      return outcome;
    };
    expect(await outcomeWith({})).toStrictEqual({ kind: 'delivered', httpStatus: 201 });
    expect(await outcomeWith({ store_answers: 'all' })).toStrictEqual({
      kind: 'delivered',
      httpStatus: 201,
      answer: body,
    });
  });

  test.each([
    ['30', 30_000],
    ['Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['soon', undefined],
  ])('a Retry-After of "%s" is read', async (header, retryAfterMs) => {
    const now = new Date('2026-11-20T12:00:00Z');
    const date = now.toUTCString();
    receiver.answerNext({ status: 503, headers: { 'retry-after': header, date } });
    const sink = open({ url: receiver.url }, { clock: { ...systemClock, now: () => now } });
    expect(await failure(sink.deliver(aBatch(1), NEVER))).toMatchObject({ retryAfterMs });
  });

  test('an endless body after a 200 does not delay the delivery, and its connection is closed', async () => {
    let closed = false;
    receiver.answerAlways((_, res) => {
      res.writeHead(200);
      const timer = setInterval(() => res.write('x'.repeat(10_000)), 1);
      res.once('close', () => {
        clearInterval(timer);
        closed = true;
      });
    });
    const startedAt = performance.now();
    const [outcome] = await open({ url: receiver.url }).deliver(aBatch(1), NEVER);
    expect(outcome?.kind).toBe('delivered');
    expect(performance.now() - startedAt).toBeLessThan(900);
    await until('the connection is closed', () => closed);
  });

  test('a body that trickles is abandoned after a second', async () => {
    let closed = false;
    receiver.answerAlways((_, res) => {
      res.writeHead(200);
      const timer = setInterval(() => res.write('x'), 50);
      res.once('close', () => {
        clearInterval(timer);
        closed = true;
      });
    });
    const startedAt = performance.now();
    const [outcome] = await open({ url: receiver.url }).deliver(aBatch(1), NEVER);
    expect(outcome?.kind).toBe('delivered');
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await until('the connection is closed', () => closed);
  });

  test('headers that trickle do not outlast the timeout', async () => {
    receiver.answerAlways((_, res) => {
      res.socket?.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => res.socket?.write('x: y\r\n'), 20);
      res.once('close', () => clearInterval(timer));
    });
    const error = await failure(open({ url: receiver.url }, { timeoutMs: 300 }).deliver(aBatch(1), NEVER));
    expect(error.message).toContain('did not answer within 0.3 s');
  });

  test('the deadline for a receiver that hangs also ends attempts that wait for its connection', async () => {
    receiver.answerAlways(() => undefined);
    const sink = open({ url: receiver.url }, { timeoutMs: 300, concurrency: 1 });
    // The connection is free again as the first is given up: one of the others may still be sent in its own last moment.
    const errors = await Promise.all([1, 2, 3].map(() => failure(sink.deliver(aBatch(1), NEVER))));
    expect(errors.every((error) => error instanceof SinkUnavailable)).toBe(true);
  });
});

describe('connections that fail', () => {
  test('the error for a refused connection says so, without the path', async () => {
    const sink = open({ url: `http://127.0.0.1:${closedPort}/t0ken?key=t0ken` });
    const error = await failure(sink.deliver(aBatch(1), NEVER));
    expect(error.message).toBe(`http://127.0.0.1:${closedPort} refuses the connection (ECONNREFUSED).`);
  });

  test('the error for a host that DNS does not know says so', async () => {
    const error = await failure(open({ url: 'http://leads.invalid/' }).check(NEVER));
    expect(error.message).toMatch(/^http:\/\/leads\.invalid (has no address|could not be looked up) in DNS/);
  });

  test('the error for a port without TLS says so', async () => {
    const error = await failure(open({ url: receiver.url.replace('http:', 'https:') }).check(NEVER));
    expect(error.message).toContain('could not set up a TLS connection with leadsync');
  });

  test('the errors for a reset after the request and for an answer that is not HTTP say so', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.end('220 mail ready\r\n')));
    const url = `http://127.0.0.1:${await listening(server)}/`;
    expect((await failure(open({ url }).deliver(aBatch(1), NEVER))).message).toContain(
      'does not answer in HTTP',
    );
    server.close();
    receiver.answerNext((_, res) => void res.socket?.destroy());
    const error = await failure(open({ url: receiver.url }).deliver(aBatch(1), NEVER));
    expect(error.message).toMatch(/closed|reset/);
  });

  test('an outcome without a connection is marked as unsent', async () => {
    const server = createTlsServer(selfSigned('receiver'));
    const selfSignedPort = await listening(server);
    for (const url of [
      `http://127.0.0.1:${closedPort}/`,
      'http://leads.invalid/',
      receiver.url.replace('http:', 'https:'),
      `https://127.0.0.1:${selfSignedPort}/`,
    ]) {
      const error = await failure(open({ url }).deliver(aBatch(1), NEVER));
      expect([url, error.toOutcome().unsent]).toEqual([url, true]);
    }
    server.close();
  });

  test('an outcome whose deadline passes during the connection is marked as unsent', async () => {
    const connections: Socket[] = [];
    const silent = createServer((socket) => void connections.push(socket));
    const url = `https://127.0.0.1:${await listening(silent)}/`;
    const error = await failure(open({ url }, { timeoutMs: 300 }).deliver(aBatch(1), NEVER));
    expect(error.toOutcome()).toMatchObject({ unsent: true });
    expect(connections).toHaveLength(1);
    for (const socket of connections) socket.destroy();
    silent.close();
  });

  test('a request that was sent and not answered may have arrived', async () => {
    receiver.answerNext(
      (_, res) => void res.socket?.destroy(),
      () => undefined,
    );
    const sink = open({ url: receiver.url }, { timeoutMs: 300 });
    for (const what of ['reset', 'hangs']) {
      const error = await failure(sink.deliver(aBatch(1), NEVER));
      expect([what, error.toOutcome().unsent]).toEqual([what, false]);
    }
    expect(receiver.received).toHaveLength(2);
  });

  test('a check sends no request', async () => {
    await open({ url: receiver.url }).check(NEVER);
    expect(receiver.received).toHaveLength(0);
  });

  test('a check that is stopped before it begins does not connect', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined).once('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
    });
    const sink = open({ url: `http://127.0.0.1:${await listening(server)}/` });
    const error = await failure(sink.check(AbortSignal.abort()));
    expect(error.message).toContain('had not answered when leadsync ended the attempt');
    // Connections are accepted in turn, so one of the check would have been counted before this one is answered.
    await sink.deliver(aBatch(1), NEVER);
    expect(connections).toBe(1);
    server.close();
  });
});
