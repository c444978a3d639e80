import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands between a sink and its server, and can cut the line. */
export interface Proxy {
  /** The server's address, by way of the proxy. */
  readonly url: string;
  /** Cuts the line after the server has answered the next COMMITs of transactions that write leads, and swallows these answers. */
  cutAfterCommit(times?: number): void;
  /** Cuts the line before the next COMMITs of transactions that write leads reach the server. */
  cutBeforeCommit(times?: number): void;
  close(): void;
}

const WRITES_LEADS = /INSERT INTO `\w+`\.`leads`/;

/** Starts a proxy on loopback. */
export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let cut: { readonly before: boolean; times: number } = { before: true, times: 0 };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 3306), target.hostname);
    let [writesLeads, swallow] = [false, false];
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
    client.on('data', (data) => {
      const text = data.toString('latin1');
      if (text.includes('START TRANSACTION')) writesLeads = false;
      writesLeads ||= WRITES_LEADS.test(text);
      if (text.endsWith('\u0003COMMIT') && writesLeads && cut.times > 0) {
        if (cut.before) client.destroy();
        swallow = true;
        cut.times -= 1;
        if (client.destroyed) return;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => (swallow ? client.destroy() : client.write(data)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cutAfterCommit: (times = 1) => {
      cut = { before: false, times };
    },
    cutBeforeCommit: (times = 1) => {
      cut = { before: true, times };
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
