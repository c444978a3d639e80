import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Preview } from '../../../src/sinks/sink.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { closedPort } from '../ports.ts';
import { type Database, openMysql, startDatabase } from './database.ts';
import { startProxy } from './proxy.ts';

promisesOfEverySink('mysql', async (): Promise<Destination> => {
  const database = await startDatabase();
  const silent = await startSilence();
  return {
    open: (parts) => openMysql({ url: database.url }, parts),
    openUnavailable: () => openMysql({ url: `mysql://user@127.0.0.1:${closedPort}/db` }),
    openHanging: () => openMysql({ url: `mysql://user@127.0.0.1:${silent.port}/db` }),
    arrived: () => readTables(database),
    received: () => readRows(database),
    documented: storable,
    documentedAnswer: storable,
    close: async () => {
      await database.close();
      silent.close();
    },
  };
});

promisesOfAnswers('mysql', {
  cut: async () => {
    const database = await startDatabase();
    await makeTables(database);
    const proxy = await startProxy(database.url);
    proxy.cutAfterCommit();
    return answering(database, proxy.url, () => proxy.close());
  },
  mixed: async () => {
    const database = await startDatabase();
    await makeTables(database);
    await database.query('ALTER TABLE leads ADD CONSTRAINT not_two CHECK (id <> 2)');
    return answering(database, database.url);
  },
});

/** Makes the tables, as the first delivery does. */
async function makeTables(database: Database): Promise<void> {
  const maker = openMysql({ url: database.url });
  await maker.deliver(aBatch(1), new AbortController().signal);
  await maker.close();
  await database.query('DELETE FROM leads; DELETE FROM lead_answers');
}

function answering(database: Database, url: string, close: () => void = () => undefined): Answering {
  return {
    sink: openMysql({ url }),
    arrived: async () => (await readTables(database)).map(({ id }) => id),
    close: async () => {
      close();
      await database.close();
    },
  };
}

function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

async function hasTables({ query }: Database): Promise<boolean> {
  return (await query("SHOW TABLES LIKE 'leads'")).length > 0;
}

/** As the documentation tells people to query it. */
async function readTables(database: Database): Promise<Arrived[]> {
  if (!(await hasTables(database))) return [];
  const answers = await database.query('SELECT * FROM lead_answers ORDER BY position');
  const leads = await database.query('SELECT * FROM leads ORDER BY source, id');
  return leads.map((lead) => ({
    ...(lead as unknown as Arrived),
    id: String(lead['id']),
    answers: answers
      .filter(
        (answer) => answer['source'] === lead['source'] && String(answer['lead_id']) === String(lead['id']),
      )
      .map((answer) => ({
        question: String(answer['question']),
        slug: String(answer['slug']),
        answer: String(answer['answer']),
      })),
  }));
}

/** Every row that was written. */
async function readRows(database: Database): Promise<Preview[]> {
  if (!(await hasTables(database))) return [];
  const leads = await database.query('SELECT * FROM leads ORDER BY id');
  return leads.map((lead) => ({
    target: `row of \`${database.name}\`.\`leads\``,
    fields: { ...(lead as Preview['fields']), id: String(lead['id']) },
  }));
}

/** A server that takes connections and never says anything. */
async function startSilence(): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
