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
  /**
   * Cuts the line once, before the server gets the next COMMIT of such a transaction. The function that this resolves to passes the COMMIT on: the
   * server does not know yet that the line is cut.
   */
  holdCommit(): Promise<() => void>;
  /** Refuses this many connections from now on. */
  refuse(connections: number): void;
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
  let [held, refused]: [((passOn: () => void) => void) | undefined, number] = [undefined, 0];
  const server = createServer((client) => {
    if (refused > 0) {
      refused -= 1;
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port || 5432), target.hostname);
    let [isWatched, swallow, isHeld] = [false, false, false];
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      const end = () => isHeld || other.destroy();
      socket.on('error', end);
      socket.on('close', end);
    }
    client.on('data', (data) => {
      if (data.includes('BEGIN ')) isWatched = false;
      isWatched ||= watched.test(data.toString('latin1'));
      if (data.includes('COMMIT\0')) {
        swallow = armed && isWatched;
        if (swallow) armed = false;
        if (held && isWatched) {
          isHeld = true;
          held(() => upstream.write(data));
          held = undefined;
          client.destroy();
          return;
        }
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
    holdCommit: () =>
      new Promise((resolve) => {
        held = resolve;
      }),
    refuse: (connections) => {
      refused = connections;
    },
    cut,
    close: () => {
      server.close();
      cut();
    },
  };
}
