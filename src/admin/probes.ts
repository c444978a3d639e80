import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { actor } from './contract/actor.ts';
import { plain } from './http/answer.ts';
import { cachedFor } from './http/cached-for.ts';

/**
 * What the probes ask. An answer is shared by all who ask at about the same time; a `ready` that does not end is itself
 * a reason.
 */
export interface ProbeOptions {
  /** Why leadsync cannot do its work now, each in one plain sentence; none: it can. */
  readonly ready: () => readonly string[] | Promise<readonly string[]>;
  readonly registry: { readonly contentType: string; metrics(): Promise<string> };
  /** Is told a fault that nobody foresaw. */
  readonly onFault: (error: unknown) => void;
}

/** How old an answer may be that is computed from the daemon's state, in ms: however often it is asked for. */
const CACHE_MS = 250;
const READY_TIMEOUT_MS = 2_000;

/** Adds `/livez`, `/readyz` and `/metrics`. Who shows no credential where one is needed is told whether, and not why not. */
export function addProbes(
  app: FastifyInstance,
  { ready, registry, onFault }: ProbeOptions,
  monotonicMs: () => number,
): void {
  const metrics = cachedFor(CACHE_MS, () => registry.metrics(), monotonicMs);
  const unready = cachedFor(CACHE_MS, () => reasonsOf(ready, onFault), monotonicMs);
  const config = { open: true };
  app.get('/livez', { config }, (_request, reply) => plain(reply, 200, 'ok'));
  app.get('/readyz', { config }, async (_request, reply) => {
    const reasons = await unready();
    const ready = reasons.length === 0;
    const told = actor.getStore() ? { ready, reasons } : { ready };
    return reply.code(ready ? 200 : 503).send(told);
  });
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await metrics()));
}

/** A check that fails or does not end is itself a reason not to be ready; why it failed is for the log alone. */
async function reasonsOf(
  ready: ProbeOptions['ready'],
  onFault: ProbeOptions['onFault'],
): Promise<readonly string[]> {
  const answered = new AbortController();
  const late = sleep(READY_TIMEOUT_MS, UNKNOWN, { signal: answered.signal });
  const asked = (async () => ready())().catch((error: unknown) => {
    onFault(error);
    return UNKNOWN;
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    late.catch(() => undefined); // called off in the next line, when nobody waits for it any more
    answered.abort();
  }
}

const UNKNOWN: readonly string[] = ['leadsync could not be asked how it is; see its log.'];
