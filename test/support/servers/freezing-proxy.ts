import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy between clients and a server that can stop forwarding single connections without closing them. */
export interface FreezingProxy {
  readonly port: number;
  /** The open connections, oldest first. */
  readonly open: readonly ProxiedConnection[];
  close(): void;
}

export interface ProxiedConnection {
  /** Stops forwarding in both directions; neither side is notified. */
  freeze(): void;
}

/** Starts a proxy on loopback in front of `port`. */
export async function startFreezingProxy(port: number): Promise<FreezingProxy> {
  const open: ProxiedConnection[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let frozen = false;
    const connection: ProxiedConnection = {
      freeze: () => {
        frozen = true;
      },
    };
    open.push(connection);
    const end = () => {
      if (open.includes(connection)) open.splice(open.indexOf(connection), 1);
      client.destroy();
      upstream.destroy();
    };
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => frozen || to.write(data));
      from.on('error', end);
      from.on('close', end);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    open,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
