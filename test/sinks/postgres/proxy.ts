import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands between leadsync and its server, and can cut the line. */
export interface Proxy {
  /** The server's address, by way of the proxy. */
  readonly url: string;
  /**
   * Cuts the line once, right after the server has answered the next COMMIT of a transaction that writes what the proxy watches for, and
   * swallows that answer. If `refusing` is given, cuts every other line too, and refuses that many connections.
   */
  cutAfterCommit(refusing?: number): void;
  /**
   * Cuts the line once, before the server gets the next COMMIT of such a transaction. The function that this resolves to passes the COMMIT on: the
   * server does not know yet that the line is cut.
   */
  holdCommit(): Promise<() => void>;
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
  let held: ((passOn: () => void) => void) | undefined;
  let [refusing, refused] = [0, 0];
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
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
    upstream.on('data', (data) => {
      if (!swallow) client.write(data);
      else if (refusing === 0) client.destroy();
      else {
        [refused, refusing] = [refusing, 0];
        cut();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cutAfterCommit: (connections = 0) => {
      armed = true;
      refusing = connections;
    },
    holdCommit: () =>
      new Promise((resolve) => {
        held = resolve;
      }),
    cut,
    close: () => {
      server.close();
      cut();
    },
  };
}
