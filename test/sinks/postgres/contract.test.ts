import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Preview } from '../../../src/sinks/sink.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { closedPort } from '../ports.ts';
import { type Database, openPostgres, startDatabase } from './database.ts';
import { startProxy } from './proxy.ts';

promisesOfEverySink('postgres', async (): Promise<Destination> => {
  const database = startDatabase();
  const silent = await startSilence();
  return {
    open: (parts) => openPostgres({ url: database.url, schema: database.schema }, parts),
    openUnavailable: () => openPostgres({ url: `postgresql://user@127.0.0.1:${closedPort}/db` }),
    openHanging: () => openPostgres({ url: `postgresql://user@127.0.0.1:${silent.port}/db` }),
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

promisesOfAnswers('postgres', {
  cut: async () => {
    const database = startDatabase();
    const proxy = await startProxy(database.url);
    proxy.cutAfterCommit();
    return answering(database, proxy.url, () => proxy.close());
  },
  mixed: async () => {
    const database = startDatabase();
    const maker = openPostgres({ url: database.url, schema: database.schema });
    await maker.mirror?.lastNumber('a-ledger', 'polls', new AbortController().signal); // makes the tables
    await maker.close();
    await database.query('ALTER TABLE leads ADD CONSTRAINT not_two CHECK (id <> 2)');
    return answering(database, database.url);
  },
});

function answering(database: Database, url: string, close: () => void = () => undefined): Answering {
  return {
    sink: openPostgres({ url, schema: database.schema }),
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

async function hasTables({ query, schema }: Database): Promise<boolean> {
  const tables = await query('SELECT to_regclass($1) AS leads', [`"${schema}".leads`]);
  return tables[0]?.['leads'] !== null;
}

/** As the documentation tells people to query it. */
async function readTables(database: Database): Promise<Arrived[]> {
  if (!(await hasTables(database))) return [];
  const answers = await database.query('SELECT * FROM lead_answers ORDER BY position');
  const leads = await database.query('SELECT * FROM v_leads ORDER BY source, id');
  return leads.map((lead) => ({
    ...(lead as unknown as Arrived),
    answers: answers
      .filter((answer) => answer['source'] === lead['source'] && answer['lead_id'] === lead['id'])
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
  const leads = await database.query(
    `SELECT *, _leadsync_raw::text, service_question_answers::text, answers::text FROM leads ORDER BY id`,
  );
  return leads.map((lead) => rowIn(database, 'leads', lead));
}

function rowIn({ schema }: Database, table: string, row: Record<string, unknown>): Preview {
  const fields = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return { target: `row of "${schema}".${table}`, fields: Object.fromEntries(fields) };
}

/** A server that takes connections and never says anything. */
async function startSilence(): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // a client may end the connection in any way
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
