import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { actor } from './contract/actor.ts';
import { cachedFor } from './http/cached-for.ts';
import { plain } from './http/send-error.ts';

/** What the probes report. Concurrent requests share one answer. If `ready` takes longer than 2 s, leadsync counts as not ready. */
export interface ProbeOptions {
  /** Returns the reasons why leadsync cannot work now, a sentence each; empty if it can. */
  readonly ready: () => readonly string[] | Promise<readonly string[]>;
  readonly registry: { readonly contentType: string; metrics(): Promise<string> };
  /** Reports an unexpected error. */
  readonly onFault: (error: unknown) => void;
}

/** Maximum age of a cached answer, in ms. Bounds the work that frequent requests cause. */
const CACHE_MS = 250;
const READY_TIMEOUT_MS = 2_000;

/**
 * Adds `/livez`, `/readyz` and `/metrics`. If a client lacks a required credential, `/readyz` says whether leadsync is ready, but gives no
 * reasons.
 */
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
    const body = actor.getStore() ? { ready, reasons } : { ready };
    return reply.code(ready ? 200 : 503).send(body);
  });
  app.get('/metrics', { config: { operation: 'metrics' } }, async (_request, reply) =>
    reply.type(registry.contentType).send(await metrics()),
  );
}

/** Returns the reasons of `ready`, or `UNKNOWN` if it fails or takes too long. Reports an error to `onFault` only, not to the client. */
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
    late.catch(() => undefined); // the next line aborts the timer
    answered.abort();
  }
}

const UNKNOWN: readonly string[] = ['The readiness check failed or took too long; see the log.'];
