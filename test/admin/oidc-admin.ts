import { onTestFinished } from 'vitest';
import type { LoginFailed } from '../../src/identity/contract.ts';
import { OpenIdProvider } from '../../src/identity/openid-provider.ts';
import { oidcOptions } from '../../src/identity/options.ts';
import type { PersonRoles } from '../../src/platform/options/role.ts';
import { type OidcStub, startOidcStub } from '../stub/oidc/oidc-stub.ts';
import { type AdminOptions, type Answer, adminToken, ask } from './asking.ts';
import { anAuditedAdmin } from './audited-admin.ts';

export const TOKEN = 'correct-horse-battery-staple';

/** A provider of a configuration whose client is registered at the stub. */
export function aProvider(stub: OidcStub, options: object = {}, parts: object = {}): OpenIdProvider {
  const { issuer, clientId: client_id, clientSecret: client_secret } = stub;
  const read = oidcOptions().parse({ issuer, client_id, client_secret, label: 'Acme', ...options });
  return new OpenIdProvider(read, {
    stop: new AbortController().signal,
    monotonicMs: () => performance.now(),
    ...parts,
  });
}

/** What a test can change while the server runs, as a reload does. */
export interface Changeable {
  provider: OpenIdProvider | undefined;
  roles: PersonRoles;
  publicUrl: string | undefined;
  hosts: readonly string[];
}

/** Roles by name and by group. */
export function aRoles(
  roles: Record<string, 'viewer' | 'operator' | 'admin'>,
  more: { groups?: Record<string, 'viewer' | 'operator' | 'admin'>; everyone?: 'viewer' } = {},
): PersonRoles {
  const groupRoles = new Map(Object.entries(more.groups ?? {}));
  return { roles: new Map(Object.entries(roles)), groupRoles, defaultRole: more.everyone };
}

/** A server whose people log in at a provider, until the test is over. `options` are those of `admin.oidc`. */
export async function anOidcAdmin(more: Partial<AdminOptions> = {}, options: object = {}) {
  const stub = await startOidcStub();
  onTestFinished(() => stub.close());
  const now: Changeable = {
    provider: aProvider(stub, options),
    roles: aRoles({ 'anna@example.com': 'operator' }),
    publicUrl: undefined,
    hosts: more.hosts?.() ?? [],
  };
  const failures: LoginFailed[] = [];
  const server = await anAuditedAdmin({
    tokens: () => adminToken(TOKEN),
    login: () =>
      now.provider && {
        provider: now.provider,
        roles: now.roles,
        publicUrl: now.publicUrl,
        origins: [now.publicUrl ?? server.url, ...now.hosts.map((name) => `https://${name}`)],
      },
    onLoginFailed: (failure) => void failures.push(failure),
    ...more,
  });
  const host = new URL(server.url).host;
  return { ...server, stub, now, failures, browser: () => new Client(server, host, stub) };
}

/** A browser without a page: it keeps cookies and follows nothing by itself. */
class Client {
  readonly cookies = new Map<string, string>();
  readonly #server: { readonly url: string };
  readonly #host: string;
  readonly #stub: OidcStub;

  constructor(server: { readonly url: string }, host: string, stub: OidcStub) {
    this.#server = server;
    this.#host = host;
    this.#stub = stub;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#kept(await ask(this.#server, path, { headers: this.#headers(headers) }));
  }

  async post(path: string, body = ''): Promise<Answer> {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.#kept(await ask(this.#server, path, { method: 'POST', headers: this.#headers(form), body }));
  }

  /** Begins a login. Returns the address of the provider. */
  async begin(path = '/login/oidc'): Promise<string> {
    return (await this.get(path)).headers.location ?? '';
  }

  /** Logs in at the provider and returns what the callback answers. */
  async logIn(path?: string): Promise<Answer> {
    return this.callBack(this.#stub.approve(await this.begin(path)));
  }

  /** Follows the provider's redirect back. The strict cookie of a session is not sent, as in a browser. */
  callBack(address: string): Promise<Answer> {
    const { pathname, search } = new URL(address);
    return this.get(pathname + search);
  }

  #headers(more: Record<string, string>): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { host: this.#host, accept: 'text/html', ...(cookie && { cookie }), ...more };
  }

  #kept(answer: Answer): Answer {
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }
}
