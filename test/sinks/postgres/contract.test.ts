import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { closedPort } from '../ports.ts';
import { type Database, openPostgres, startDatabase } from './database.ts';

promisesOfEverySink('postgres', async (): Promise<Destination> => {
  const database = startDatabase();
  const silent = await startSilence();
  return {
    open: (parts) => openPostgres({ url: database.url, schema: database.schema }, parts),
    openUnavailable: () => openPostgres({ url: `postgresql://user@127.0.0.1:${closedPort}/db` }),
    openHanging: () => openPostgres({ url: `postgresql://user@127.0.0.1:${silent.port}/db` }),
    arrived: () => readTables(database),
    documented: storable,
    documentedAnswer: storable,
    close: async () => {
      await database.close();
      silent.close();
    },
  };
});

function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** As the documentation tells people to query it. */
async function readTables(database: Database): Promise<Arrived[]> {
  const tables = await database.query('SELECT to_regclass($1) AS leads', [`"${database.schema}".leads`]);
  if (tables[0]?.['leads'] === null) return [];
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

/** A server that takes connections and never says anything. */
async function startSilence(): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // whoever hangs up may do so as it likes
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
