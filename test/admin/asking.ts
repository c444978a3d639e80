import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AdminServer, startAdmin } from '../../src/admin/server.ts';
import { Secret } from '../../src/platform/options/secret.ts';

export type AdminOptions = Parameters<typeof startAdmin>[0];

/** A server that is open to this machine, of a leadsync that is well and has neither pages nor API. */
export const openOptions: AdminOptions = {
  host: '127.0.0.1',
  port: 0,
  hosts: () => [],
  proxies: () => [],
  tokens: () => [],
  loopback: true,
  version: '1.2.3',
  instance: 'an-instance',
  recordKey: 'a-record-key',
  ready: () => [],
  registry: { contentType: 'text/plain; version=0.0.4', metrics: async () => 'leadsync_up 1\n' },
  configuration: async () => ({
    generation: 1,
    loaded_at: '2026-11-20T10:00:00.000Z',
    stale: null,
    values: [],
  }),
  reload: async () => ({ applied: true, generation: 2, changes: [], restart: [] }),
  operations: undefined,
  audit: async () => undefined,
  onFault: () => undefined,
};

/** The tokens of a server with `admin.token`. */
export function adminToken(token: string): ReturnType<AdminOptions['tokens']> {
  return [{ name: 'admin', role: 'admin', token: new Secret(token) }];
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Asks without adding anything of its own to the request, and gives whatever comes back. */
export function ask(
  server: Pick<AdminServer, 'url'>,
  path: string,
  more: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { hostname, port } = new URL(server.url);
  const { method, headers, body } = more;
  const request = httpRequest({ host: hostname, port, path, method, headers, agent: false });
  request.on('error', reject);
  request.on('response', (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
  });
  request.end(body);
  return promise;
}
