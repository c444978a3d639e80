// The services and the webhook receivers of the benchmark, in one process with one clock. ../world.ts starts it, gets the ports,
// and sends commands as `POST /control/NAME` with JSON.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { FlakyReceiver } from './flaky-receiver.ts';
import { Latencies } from './latencies.ts';
import { type Answered, answerService, type Served } from './listing-server.ts';
import { Receiver } from './receiver.ts';
import { RenderedListing } from './rendered-listing.ts';

/** Services by name, which is the first part of the path of their base URL. */
const services = new Map<string, Served>();
const latencies = new Latencies();
const receiver = new Receiver((id, at) => latencies.arrived(id, at));
const flaky = new FlakyReceiver((id, at) => latencies.arrived(id, at));
/** Callbacks for the last byte of the first listing with a change, by service and revision. */
const changes = new Map<string, (at: number) => void>();

const name = z.string();
const count = z.number().int().nonnegative();
const commands: Readonly<Record<string, (request: unknown) => unknown>> = {
  show: (request) => show(showRequest.parse(request)),
  slide: (request) => latencies.of(serviceOf(z.strictObject({ name }).parse(request).name).listing.slide()),
  change: (request) => change(z.strictObject({ name, every: count }).parse(request)),
  reset: () => receiver.reset(),
  arrivals: () => receiver.arrivals,
  behave: (request) => flaky.behave(behaviour.parse(request)),
  visits: () => flaky.visits,
  accepted: (request) => flaky.acceptedAt(z.strictObject({ leads: count }).parse(request).leads),
};
const behaviour = z.strictObject({
  failPercent: z.number(),
  seed: count,
  delayMs: z.tuple([z.number(), z.number()]),
});
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
// Clients may be busy for a long time between two requests.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({
  port: (server.address() as AddressInfo).port,
  receiverPort: await receiver.listen(),
  flakyPort: await flaky.listen(),
});
process.once('disconnect', () => process.exit(0));

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const [, place = '', rest = ''] = (req.url ?? '').split('/');
  if (place !== 'control')
    return answerService(req, res, serviceOf(place), (answered, at) => listed(place, answered, at));
  const result = await commands[rest]?.(await json(req));
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify(result ?? null));
}

function listed(name: string, { first, newest, revision }: Answered, at: number): void {
  latencies.listed(first, newest, at);
  changes.get(`${name} ${revision}`)?.(at);
  changes.delete(`${name} ${revision}`);
}

/** Changes leads of a service. Resolves when the first listing with the change was written, with that time in ms since 1970. */
function change({ name, every }: { name: string; every: number }): Promise<number> {
  const revision = serviceOf(name).listing.change(every);
  return new Promise((resolve) => changes.set(`${name} ${revision}`, resolve));
}

function show({ name, first, leads, ...how }: z.output<typeof showRequest>): void {
  services.set(name, { listing: new RenderedListing(first, leads), ...how });
}

function serviceOf(name: string): Served {
  const served = services.get(name);
  if (served === undefined) throw new Error(`there is no service ${name}`);
  return served;
}
