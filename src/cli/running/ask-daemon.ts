import { request as httpRequest } from 'node:http';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { readAdminEndpoint } from '../../operations/opening/admin-endpoint.ts';
import { hostAndPort } from '../../platform/http/address.ts';
import { INSTANCE_HEADER, RECORDED_HEADER } from '../../platform/http/instance-header.ts';
import type { StaleConfig } from '../../status/problems/problem.ts';
import type { Address } from '../arguments/address.ts';

/**
 * Maximum time that a command waits for an answer from the running leadsync, in ms. Longer than leadsync takes to answer `/readyz`, even if
 * its parts do not respond.
 */
const ANSWER_MS = 3_000;
const MAX_BYTES = 64 * 1024;

/** The answer from a running leadsync, or a short reason why there is none. */
export type DaemonAnswer = { readonly status: number; readonly body: string } | { readonly failure: string };

/** The `admin.token` of the running leadsync; `unknown` if this process cannot read it, undefined if there is none. */
type Token = LedgerConfig['adminToken'];

/** The leadsync that a command sends its requests to. */
export interface DaemonTarget {
  readonly address: Address;
  /** The instance that must answer. `none`: a server that names no instance; `any`: every server. */
  readonly instance: string | 'none' | 'any';
  /** Secret for requests whose action the command has recorded in the audit log. Absent if it is not known. */
  readonly recordKey?: string;
}

/**
 * Returns the address of a configuration's leadsync. If the process that holds the data directory has recorded its address there, returns
 * the recorded address, because the configuration may have changed since. Returns undefined if there is no admin address.
 */
export function daemonTarget({
  dataDir,
  admin,
}: Pick<LedgerConfig, 'dataDir' | 'admin'>): DaemonTarget | undefined {
  const found = readAdminEndpoint(dataDir);
  if (found) {
    const { host, port, ...ids } = found;
    return { address: { host, port }, ...ids };
  }
  return admin && { address: admin, instance: 'none' };
}

/**
 * Sends a request to a leadsync, GET by default. `isRecorded` says that the command has recorded the action in the audit log, so that leadsync
 * does not record it a second time. An answer from another leadsync counts as a failure. Never rejects.
 */
export function askDaemon(
  { address, instance, recordKey }: DaemonTarget,
  path: string,
  {
    method = 'GET',
    withinMs = ANSWER_MS,
    maxBytes = MAX_BYTES,
    token,
    isRecorded = false,
  }: { method?: string; withinMs?: number; maxBytes?: number; token?: Token; isRecorded?: boolean } = {},
): Promise<DaemonAnswer> {
  const { host, port } = reachable(address);
  const headers = {
    ...(token !== undefined && token !== 'unknown' && { authorization: `Bearer ${token.reveal()}` }),
    ...(isRecorded && recordKey !== undefined && { [RECORDED_HEADER]: recordKey }),
  };
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(withinMs);
    const fail = (error: NodeJS.ErrnoException) =>
      resolve({
        failure: signal.aborted
          ? `no answer within ${withinMs / 1_000} s`
          : `no connection (${error.code ?? error.name})`,
      });
    const request = httpRequest({ host, port, path, method, headers, signal, agent: false }, (response) => {
      const from = String(response.headers[INSTANCE_HEADER] ?? 'none');
      if (instance !== 'any' && from !== instance) {
        response.destroy();
        resolve({
          failure:
            from === 'none'
              ? 'something else answers there'
              : 'another leadsync answers there, which holds another data directory',
        });
        return;
      }
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
        if (body.length > maxBytes) response.destroy();
      });
      response.on('close', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('error', fail);
    });
    request.on('error', fail);
    request.end();
  });
}

/**
 * The state of a running leadsync. `unready` has a sentence for each reason why leadsync is not ready, or a single sentence that says that
 * leadsync does not answer.
 */
export interface Readiness {
  readonly answers: boolean;
  readonly unready: readonly string[];
}

/**
 * Asks the leadsync that holds the data directory for its state. `isFaulty` means that the configuration has faults, so that the address
 * may be wrong. Never rejects.
 */
export async function askReadiness(asked: DaemonTarget, token: Token, isFaulty = false): Promise<Readiness> {
  const answer = await askDaemon(asked, '/readyz', { token });
  const unready = 'failure' in answer ? undefined : reasonsIn(answer.body);
  if (unready) return { answers: true, unready };
  const shown = hostAndPort(reachable(asked.address));
  const why = 'failure' in answer ? answer.failure : `something else answers (${answer.status})`;
  const cause = isFaulty
    ? 'The configuration has faults, so this may be the wrong address: fix them, and try again.'
    : 'It may be starting or stopping, or admin.listen may have changed since it started. If this continues, its process hangs, and nothing is polled or delivered: end that process and start leadsync again. Nothing is lost.';
  const silence = `A leadsync holds the data directory and does not answer at ${shown}: ${why}. ${cause}`;
  return { answers: false, unready: [silence] };
}

function reasonsIn(body: string): readonly string[] | undefined {
  try {
    const { ready, reasons } = JSON.parse(body) as { ready?: unknown; reasons?: unknown };
    if (Array.isArray(reasons)) return reasons.filter((reason) => typeof reason === 'string');
    if (typeof ready !== 'boolean') return undefined;
    return ready
      ? []
      : ['leadsync reports the reason only to a client with admin.token, which is not available here.'];
  } catch {
    return undefined; // the server is not a leadsync
  }
}

interface StaleJson {
  readonly since: string;
  readonly faults: readonly unknown[];
  readonly failure?: unknown;
}

/**
 * If the running leadsync reports that it uses an earlier configuration, returns since when, and each fault in the file or why it could not be
 * applied. Otherwise returns undefined.
 */
export async function staleConfig(asked: DaemonTarget, token: Token): Promise<StaleConfig | undefined> {
  const answer = await askDaemon(asked, '/api/v1/configuration', { token });
  if ('failure' in answer) return undefined;
  try {
    const { stale } = JSON.parse(answer.body) as { stale?: StaleJson | null };
    if (!stale) return undefined;
    const { since, faults, failure } = stale;
    return {
      since: new Date(since),
      faults: faults.map(String),
      ...(typeof failure === 'string' && { failure }),
    };
  } catch {
    return undefined; // the server is not a leadsync, or an older one
  }
}

/** Returns an address to connect to: loopback for a server that listens on every address of the machine. */
export function reachable({ host, port }: Address): Address {
  if (host === '0.0.0.0') return { host: '127.0.0.1', port };
  return { host: host === '::' ? '::1' : host, port };
}
