import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import type { BatchRef } from '../../src/leads/delivery.ts';
import { fly } from '../../src/ledger-postgres/database/flight.ts';
import { delivered, ids, LedgerUnderTest, MINUTE } from '../ledger/ledger-under-test.ts';
import { aListedLead, blockOf } from '../support/scene/a-lead.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { PostgresStore } from './postgres-store.ts';

const asked = (name: string, text: string, ...values: (string | number | number[] | null)[]) => ({
  sql: { name, text },
  values,
});
const one = asked('one', 'SELECT 1::bigint AS one');
const fails = asked('fails', 'SELECT 1 / $1::int AS failed', 0);
const begin = asked('BEGIN', 'BEGIN');
const commit = asked('COMMIT', 'COMMIT');

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('CREATE TEMP TABLE added (no int)');
  return client;
}

it('the statements of a flight run in order, and each gets its answer', async () => {
  const client = await connected();
  const add = asked('add', 'INSERT INTO added SELECT * FROM unnest($1::int[])', [1, 2]);
  const count = asked('count', 'SELECT count(*)::int AS count, $1::text AS text FROM added', null);
  for (const already of [0, 2]) {
    const answers = await fly(client, [count, add, count]);
    expect(answers.map(({ command }) => command)).toEqual(['SELECT', 'INSERT', 'SELECT']);
    expect(answers.map(({ rows }) => rows)).toEqual([
      [{ count: already, text: null }],
      [],
      [{ count: already + 2, text: null }],
    ]);
    expect(answers[1]?.count).toBe(2);
  }
});

it('after a statement that fails, the server runs no other of the flight, and the connection can be used', async () => {
  const client = await connected();
  const add = asked('add', 'INSERT INTO added VALUES (1)');
  await expect(fly(client, [begin, add, fails, one, commit])).rejects.toMatchObject({ code: '22012' });
  await client.query('ROLLBACK');
  expect(await fly(client, [one, asked('all', 'SELECT no FROM added'), one])).toMatchObject([
    { rows: [{ one: '1' }] },
    { rows: [] },
    { rows: [{ one: '1' }] },
  ]);
});

it('a flight fails if its connection ends', async () => {
  const client = await connected();
  client.on('error', () => undefined);
  const end = asked('end', 'SELECT pg_terminate_backend(pg_backend_pid())');
  await expect(fly(client, [one, end, one])).rejects.toThrow();
  await expect(fly(client, [one])).rejects.toThrow();
});

/** Counts the messages that a client sends through it to the server. */
async function startCounter() {
  const counter = { url: '', messages: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = new URL(requireDatabaseUrl());
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined));
    client.on('data', (data) => {
      // Notices are sent beside the transactions.
      if (!data.includes('pg_notify')) counter.messages += 1;
    });
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = new URL(requireDatabaseUrl());
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  counter.url = url.href;
  return counter;
}

it('a claim that begins its attempts is three flights, and a settlement two', async () => {
  const counter = await startCounter();
  const on = await LedgerUnderTest.with(new PostgresStore({ url: counter.url, connections: 1 }).open, 'crm');
  const { ledger } = on;
  await on.list(ids(1, 110));
  const attempt = { outcomes: [delivered], startedAt: on.clock.now(), durationMs: 1 };
  const claim = async (window: number) =>
    (await ledger.claim({ sink: 'crm', window, max: 1, waitMs: 0, leaseMs: MINUTE, beginForMs: MINUTE }))
      .refs;
  // Until the health of the sink stays the same, and the statements are prepared.
  for (const window of [100, 1, 1])
    await Promise.all((await claim(window)).map((ref) => ledger.settle(ref, attempt)));
  const before = counter.messages;
  const [ref] = await claim(1);
  expect(counter.messages - before).toBe(3);
  await ledger.settle(ref as BatchRef, attempt);
  expect(counter.messages - before).toBe(5);
});

it('attempts from a queue that begin in the same turn of the event loop are three flights', async () => {
  const counter = await startCounter();
  const on = await LedgerUnderTest.with(new PostgresStore({ url: counter.url, connections: 1 }).open, 'crm');
  await on.list(ids(1, 60));
  const { refs } = await on.claim('crm', { window: 60 });
  const begin = (some: readonly BatchRef[]) => Promise.all(some.map((ref) => on.ledger.begin(ref, MINUTE)));
  await begin(refs.slice(0, 20));
  const before = counter.messages;
  expect((await begin(refs.slice(20))).every((one) => one !== undefined)).toBe(true);
  expect(counter.messages - before).toBe(3);
});

it('a poll of known blocks is five flights, and one that also finds a new lead fourteen', async () => {
  const counter = await startCounter();
  const { ledger } = await LedgerUnderTest.with(
    new PostgresStore({ url: counter.url, connections: 1 }).open,
    'crm',
  );
  const poll = async (...numbers: number[]) => {
    const before = counter.messages;
    const id = await ledger.startPoll('main');
    await ledger.recordOrigin('main', 'example.com/api/v1/leads');
    await ledger.listingMark('main');
    const blocks = numbers.map((no) => blockOf([aListedLead({ id: BigInt(no) })], `block ${no}`));
    const known = await ledger.beginKnown(id, blocks);
    for (const block of blocks.slice(known)) {
      const unknown = await ledger.unknownElements(id, block);
      await ledger.record(
        id,
        unknown.map((element) => element.read()),
      );
    }
    const { listed } = await ledger.finishPoll(id, {
      status: 'success',
      bytes: 1,
      httpStatus: 200,
      mark: undefined,
    });
    expect(listed).toBe(numbers.length);
    return counter.messages - before;
  };
  // Until the statements are prepared, and the connections have their rows.
  for (const numbers of [
    [1, 2],
    [1, 2],
    [1, 2, 3],
  ])
    await poll(...numbers);
  expect(await poll(1, 2, 3)).toBe(5);
  expect(await poll(1, 2, 3, 4)).toBe(14);
});
