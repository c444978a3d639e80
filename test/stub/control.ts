import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { listingFaults } from './listing-faults.ts';
import { readBody, sendJson } from './manner.ts';
import { oddListings } from './odd-leads.ts';
import type { MisbehaveRequest, Stub } from './stub.ts';
import { tokenFaults } from './token-faults.ts';

const id = z.number().int().positive();
const anything = z.strictObject({});

/** The commands of `POST /__stub/…`, each with its schema and its action. */
const commands = {
  misbehave: command(
    z.strictObject({
      listing: nameOf({ ...listingFaults, ...oddListings }).optional(),
      token: nameOf(tokenFaults).optional(),
      times: id.optional(),
      retryAfter: z.string().optional(),
      delayMs: z.number().nonnegative().optional(),
    }),
    (stub, request) => stub.misbehave(defined(request)),
  ),
  behave: command(anything, (stub) => stub.behave()),
  add: command(z.strictObject({ count: id, from: id.optional() }), (stub, { count, from }) =>
    stub.addLeads(count, from === undefined ? {} : { from }),
  ),
  'add-raw': command(z.strictObject({ text: z.string() }), (stub, { text }) => stub.addRaw(text)),
  change: command(z.strictObject({ id }), (stub, request) => stub.changeLead(request.id)),
  remove: command(z.strictObject({ id }), (stub, request) => stub.removeLead(request.id)),
  arrive: command(z.strictObject({ perSecond: z.number().nonnegative() }), (stub, { perSecond }) =>
    stub.arrive(perSecond),
  ),
  revoke: command(z.strictObject({ which: z.enum(['all', 'refresh']) }), (stub, { which }) =>
    stub.revoke(which),
  ),
};

/** Answers `/__stub/…`: the stub's controls for callers outside its process. `GET state` and `GET served` only read. */
export async function answerControlRequest(
  req: IncomingMessage,
  res: ServerResponse,
  url: URL,
  stub: Stub,
): Promise<void> {
  const name = url.pathname.slice('/__stub/'.length);
  if (req.method === 'GET' && name === 'state') return sendJson(res, 200, stateOf(stub));
  if (req.method === 'GET' && name === 'served') return sendJson(res, 200, servedOf(stub));
  if (req.method !== 'POST' || !isCommand(name)) {
    const known = Object.keys(commands).join(', ');
    return sendJson(res, 404, { error: `GET state, GET served, or POST one of: ${known}` });
  }
  const body = await readBody(req);
  const answer = commands[name](stub, body);
  sendJson(res, 'error' in answer ? 400 : 200, answer);
}

function command<Schema extends z.ZodType>(
  schema: Schema,
  act: (stub: Stub, request: z.output<Schema>) => unknown,
) {
  return (stub: Stub, body: string): { done: unknown } | { error: string } => {
    const request = schema.safeParse(parsed(body));
    return request.success
      ? { done: act(stub, request.data) ?? null }
      : { error: z.prettifyError(request.error) };
  };
}

function parsed(body: string): unknown {
  if (body === '') return {};
  try {
    return JSON.parse(body);
  } catch {
    // A body that is not JSON is not an object either, and the schema reports it.
    return body;
  }
}

function nameOf<Table extends object>(table: Table) {
  return z.custom<keyof Table>((name) => typeof name === 'string' && name in table, {
    error: `must be one of: ${Object.keys(table).join(', ')}`,
  });
}

function isCommand(name: string): name is keyof typeof commands {
  return name in commands;
}

/** Drops undefined fields, which `exactOptionalPropertyTypes` does not accept. */
function defined(
  request: { [Key in keyof MisbehaveRequest]: MisbehaveRequest[Key] | undefined },
): MisbehaveRequest {
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
}

function stateOf(stub: Stub) {
  return {
    shown: stub.shown,
    served: stub.served.ids().length,
    tokenRequests: stub.tokenRequests,
    listingRequests: stub.listingRequests,
  };
}

function servedOf(stub: Stub) {
  return {
    leads: stub.served.ids().map((lead) => ({ id: lead, versions: stub.served.versions(lead) })),
    raw: stub.served.raw(),
  };
}
