import { request as httpRequest } from 'node:http';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { readAdminEndpoint } from '../../operations/opening/admin-endpoint.ts';
import { hostAndPort } from '../../platform/http/host-and-port.ts';
import { INSTANCE_HEADER } from '../../platform/http/instance-header.ts';
import type { StaleConfig } from '../../status/problem.ts';
import type { Address } from '../shell/address.ts';

/** How long the running leadsync may take to answer, in ms; it waits for its own parts for less than that. */
const ANSWER_MS = 3_000;
const MAX_BYTES = 64 * 1024;

/** What an HTTP address of the running leadsync answers, or in a few words why it does not. */
export type DaemonAnswer = { readonly status: number; readonly body: string } | { readonly failure: string };

/** The token that the running leadsync asks for, as far as it is at hand. */
type Token = LedgerConfig['adminToken'];

/** Whom a command asks. */
export interface Asked {
  readonly address: Address;
  /** The instance that has to answer; `none`: one that tells no instance; `any`: whoever listens there. */
  readonly instance: string | 'none' | 'any';
}

/**
 * Returns where the leadsync of a configuration is to be asked. The one that holds the data directory says so there, whatever the
 * configuration says by now; without that, it is asked where the configuration says. Undefined: it answers nowhere.
 */
export function whomToAsk({ dataDir, admin }: Pick<LedgerConfig, 'dataDir' | 'admin'>): Asked | undefined {
  const found = readAdminEndpoint(dataDir);
  if (found) return { address: { host: found.host, port: found.port }, instance: found.instance };
  return admin && { address: admin, instance: 'none' };
}

/**
 * Asks a leadsync for one of its paths, by GET unless said otherwise. The answer of another leadsync counts as none. Never rejects.
 */
export function askDaemon(
  { address, instance }: Asked,
  path: string,
  {
    method = 'GET',
    withinMs = ANSWER_MS,
    maxBytes = MAX_BYTES,
    token,
  }: { method?: string; withinMs?: number; maxBytes?: number; token?: Token } = {},
): Promise<DaemonAnswer> {
  const { host, port } = reachable(address);
  const headers =
    token === undefined || token === 'unknown' ? {} : { authorization: `Bearer ${token.reveal()}` };
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

/** How a running leadsync is, in whole sentences: why it cannot do its work, as it says itself, or that it says nothing. */
export interface Readiness {
  readonly answers: boolean;
  readonly unready: readonly string[];
}

/**
 * Asks the leadsync that holds the data directory how it is. Of a configuration with faults the address may be none that
 * it ever had. Never rejects.
 */
export async function askReadiness(asked: Asked, token: Token, isFaulty = false): Promise<Readiness> {
  const answer = await askDaemon(asked, '/readyz', { token });
  const unready = 'failure' in answer ? undefined : reasonsIn(answer.body);
  if (unready) return { answers: true, unready };
  const shown = hostAndPort(reachable(asked.address));
  const why = 'failure' in answer ? answer.failure : `something else answers (${answer.status})`;
  const cause = isFaulty
    ? 'The configuration has faults, so this may not be where it listens, and says nothing about how it is: correct them, and ask again.'
    : 'It may be starting or stopping, or admin.listen may have changed since it started; if it stays so, its process hangs or is frozen, and nothing is polled or delivered: end that process and start leadsync again. Nothing is lost by that.';
  const silence = `A leadsync holds the data directory and does not answer at ${shown}: ${why}. ${cause}`;
  return { answers: false, unready: [silence] };
}

function reasonsIn(body: string): readonly string[] | undefined {
  try {
    const { ready, reasons } = JSON.parse(body) as { ready?: unknown; reasons?: unknown };
    if (Array.isArray(reasons)) return reasons.filter((reason) => typeof reason === 'string');
    if (typeof ready !== 'boolean') return undefined;
    return ready ? [] : ['it says why to those alone who show admin.token, which is not at hand here.'];
  } catch {
    return undefined; // whoever listens there is no leadsync
  }
}

/** Why the running leadsync keeps to an earlier configuration: since when its file is not valid, and each fault; undefined when it does not. */
export async function staleConfig(asked: Asked, token: Token): Promise<StaleConfig | undefined> {
  const answer = await askDaemon(asked, '/api/v1/configuration', { token });
  if ('failure' in answer) return undefined;
  try {
    const { stale } = JSON.parse(answer.body) as { stale?: { since: string; faults: unknown[] } | null };
    return stale ? { since: new Date(stale.since), faults: stale.faults.map(String) } : undefined;
  } catch {
    return undefined; // whoever listens there is no leadsync, or an older one
  }
}

/** A server that listens on every address of the machine is asked on its loopback. */
export function reachable({ host, port }: Address): Address {
  if (host === '0.0.0.0') return { host: '127.0.0.1', port };
  return { host: host === '::' ? '::1' : host, port };
}
