import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { requireDatabaseUrl } from '../support/servers/services.ts';

/** A session at the server, and the client whose transaction it runs. */
interface Session {
  readonly stream: Socket;
  client: Client | undefined;
}

/** A client, and what it has sent that no session has taken. */
interface Client {
  readonly socket: Socket;
  sent: Buffer;
  session: Session | undefined;
}

const READY = 'Z'.charCodeAt(0);
const IDLE = 'I'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);

/**
 * Starts a connection pooler that gives each transaction of a client the session that has been idle longest. Returns its address. Ends with the running
 * test.
 */
export async function startTransactionPooler(sessions: number): Promise<string> {
  const idle: Session[] = [];
  const waiting: Client[] = [];
  const take = (client: Client) => {
    const session = client.session ?? idle.shift();
    if (!session) {
      if (!waiting.includes(client)) waiting.push(client);
      return;
    }
    client.session = session;
    session.client = client;
    session.stream.write(client.sent);
    client.sent = Buffer.alloc(0);
  };
  const release = (session: Session) => {
    if (session.client) session.client.session = undefined;
    session.client = undefined;
    idle.push(session);
    const next = waiting.shift();
    if (next) take(next);
  };
  for (let n = 0; n < sessions; n += 1) idle.push(await openSession(release));
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.on('error', () => undefined);
    const client: Client = { socket, sent: Buffer.alloc(0), session: undefined };
    socket.once('data', () => {
      socket.write(GREETING);
      socket.on('data', (data) => {
        client.sent = Buffer.concat([client.sent, data]);
        if (data[0] === TERMINATE) socket.end();
        else take(client);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of clients) socket.destroy();
  });
  const url = new URL(requireDatabaseUrl());
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return url.href;
}

/** Connects, and then passes on what the server answers. `release` is called after each transaction. */
async function openSession(release: (session: Session) => void): Promise<Session> {
  const connected = new pg.Client({ connectionString: requireDatabaseUrl() });
  await connected.connect();
  const { stream } = (connected as unknown as { connection: { stream: Socket } }).connection;
  stream.removeAllListeners();
  onTestFinished(() => {
    stream.destroy();
  });
  const session: Session = { stream, client: undefined };
  let received = Buffer.alloc(0);
  stream.on('error', () => undefined);
  stream.on('data', (data) => {
    received = Buffer.concat([received, data]);
    while (received.length >= 5 && received.length > received.readInt32BE(1)) {
      const message = received.subarray(0, received.readInt32BE(1) + 1);
      received = received.subarray(message.length);
      session.client?.socket.write(message);
      if (message[0] === READY && message[5] === IDLE) release(session);
    }
  });
  return session;
}

/** AuthenticationOk, BackendKeyData and ReadyForQuery (PostgreSQL manual, "Message Formats"). */
const GREETING = Buffer.from([
  ...['R'.charCodeAt(0), 0, 0, 0, 8, 0, 0, 0, 0],
  ...['K'.charCodeAt(0), 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 2],
  ...[READY, 0, 0, 0, 5, IDLE],
]);
