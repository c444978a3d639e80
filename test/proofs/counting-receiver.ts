import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A receiver that takes every webhook and keeps of each only when it came: for more of them than fit in memory. */
export interface CountingReceiver {
  readonly url: string;
  /** When each request came, in ms since the process started, in order. */
  readonly arrivedMs: readonly number[];
  /** How many different leads there were among them. */
  readonly leads: number;
  close(): Promise<void>;
}

export async function startCountingReceiver(): Promise<CountingReceiver> {
  const arrivedMs: number[] = [];
  const leads = new Set<string>();
  const server = createServer((req, res) => {
    req.resume().once('end', () => {
      arrivedMs.push(performance.now());
      // A delivery is named sink:source:lead:version:hash.
      leads.add(String(req.headers['webhook-id']).split(':')[2] ?? '');
      res.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrivedMs,
    get leads() {
      return leads.size;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
