import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands between leadsync and its server, and can cut the line. */
export interface Proxy {
  /** The server's address, by way of the proxy. */
  readonly url: string;
  /**
   * Cuts the line once, right after the server has answered the next COMMIT of a transaction that writes what the proxy watches for, and
   * swallows that answer.
   */
  cutAfterCommit(): void;
  /** Cuts every line there is, now. */
  cut(): void;
  close(): void;
}

/** Whether a message is part of a transaction in which a sink writes leads. What else it mirrors has transactions of its own. */
const WRITES_LEADS = /INSERT INTO \S+\.leads AS/;

/** Starts a proxy. `watched` matches a message of the transactions that `cutAfterCommit` waits for. */
export async function startProxy(databaseUrl: string, watched = WRITES_LEADS): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let armed = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    let [isWatched, swallow] = [false, false];
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
    client.on('data', (data) => {
      if (data.includes('BEGIN ')) isWatched = false;
      isWatched ||= watched.test(data.toString('latin1'));
      if (data.includes('COMMIT\0')) {
        swallow = armed && isWatched;
        if (swallow) armed = false;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => (swallow ? client.destroy() : client.write(data)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cutAfterCommit: () => {
      armed = true;
    },
    cut,
    close: () => {
      server.close();
      cut();
    },
  };
}
