// All that is around a leadsync, in one process and by one clock: listings of the service, and a receiver of webhooks.
// Started by ../world.ts, which is told the two ports; commands come as `POST /control/NAME` with JSON.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { Latencies } from './latencies.ts';
import { answerService, type Served } from './listing-server.ts';
import { Receiver } from './receiver.ts';
import { RenderedListing } from './rendered-listing.ts';

/** By name, which is the first part of its base URL's path. */
const services = new Map<string, Served>();
const latencies = new Latencies();
const receiver = new Receiver((id, at) => latencies.arrived(id, at));

const name = z.string();
const count = z.number().int().nonnegative();
const commands: Readonly<Record<string, (request: unknown) => unknown>> = {
  show: (request) => show(showRequest.parse(request)),
  slide: (request) => latencies.of(serviceOf(z.strictObject({ name }).parse(request).name).listing.slide()),
  reset: () => receiver.reset(),
  arrivals: () => receiver.arrivals,
};
const showRequest = z.strictObject({
  name,
  first: count,
  leads: count,
  etag: z.boolean(),
  growBy: count,
  delayMs: count,
});

const server = createServer((req, res) => {
  answer(req, res).catch((error: unknown) => {
    process.stderr.write(`the benchmark's servers failed: ${error instanceof Error ? error.stack : error}\n`);
    res.destroy();
  });
});
// Its reader may be busy for long between two requests.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ port: (server.address() as AddressInfo).port, receiverPort: await receiver.listen() });
process.once('disconnect', () => process.exit(0));

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const [, place = '', rest = ''] = (req.url ?? '').split('/');
  if (place !== 'control')
    return answerService(req, res, serviceOf(place), (newest, at) => latencies.listed(newest, at));
  const result = await commands[rest]?.(await json(req));
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify(result ?? null));
}

function show({ name, first, leads, ...how }: z.output<typeof showRequest>): void {
  services.set(name, { listing: new RenderedListing(first, leads), ...how });
}

function serviceOf(name: string): Served {
  const served = services.get(name);
  if (served === undefined) throw new Error(`there is no service ${name}`);
  return served;
}
