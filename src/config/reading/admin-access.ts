import type { z } from 'zod';
import { isLoopback } from '../../platform/http/address.ts';
import type { NamedToken, TrustedHeader } from '../../platform/options/role.ts';
import type { Secret } from '../../platform/options/secret.ts';
import type { LoginConfig } from '../contract/config.ts';
import type { adminOptions } from '../options/admin-options.ts';
import type { TreeValidator } from './validate-tree.ts';

type Admin = z.output<typeof adminOptions>;
type Tokens = Pick<Admin, 'token' | 'tokens'>;

/** Returns `admin.token`, under the name `admin`, and the named tokens. */
export function tokensOf({ token, tokens }: Tokens): NamedToken[] {
  const named = Object.entries(tokens).map(([name, one]) => ({ name, ...one }));
  return [...(token === undefined ? [] : [{ name: 'admin', role: 'admin' as const, token }]), ...named];
}

/** Returns the first admin token, which commands send to the running leadsync; undefined if there is none. */
export function commandToken(tokens: Tokens): Secret | undefined {
  return tokensOf(tokens).find(({ role }) => role === 'admin')?.token;
}

/** Returns the header in which a trusted proxy names a person, if configured. */
export function headerOf({ trusted_header: header }: Admin): TrustedHeader | undefined {
  if (header === undefined) return undefined;
  const { name, roles, default_role: defaultRole } = header;
  return { name, roles: new Map(Object.entries(roles)), defaultRole };
}

/** Returns the OpenID provider that logs people in, and their roles, if configured. */
export function loginOf({ oidc }: Admin): LoginConfig | undefined {
  if (oidc === undefined) return undefined;
  const { roles, group_roles: groupRoles, default_role: defaultRole } = oidc;
  return {
    provider: oidc,
    roles: {
      roles: new Map(Object.entries(roles)),
      groupRoles: new Map(Object.entries(groupRoles)),
      defaultRole,
    },
  };
}

/** Reports what would let a stranger in, or would make the audit log ambiguous. */
export function checkAdminAccess(admin: Admin, validator: TreeValidator): void {
  refuseOpenAddress(admin, validator);
  refuseSharedTokens(tokensOf(admin), validator);
  if (admin.trusted_header !== undefined && admin.trusted_proxies.length === 0)
    validator.fault(
      ['admin', 'trusted_header'],
      'no proxy is trusted to set it',
      'add the addresses of the proxy to admin.trusted_proxies',
    );
  if (admin.oidc !== undefined) checkLogin(admin, admin.oidc, validator);
}

/**
 * Reports an OpenID provider that would be of no use: no person would have a role, commands would have no credential, or the provider would
 * have no address to send people back to.
 */
function checkLogin(admin: Admin, oidc: NonNullable<Admin['oidc']>, validator: TreeValidator): void {
  const { roles, group_roles: groupRoles, default_role: defaultRole } = oidc;
  if (Object.keys({ ...roles, ...groupRoles }).length === 0 && defaultRole === undefined)
    validator.fault(
      ['admin', 'oidc'],
      'no person would have a role',
      'add roles, such as `roles: { anna@example.com: admin }`, or group_roles or default_role',
    );
  if (commandToken(admin) === undefined)
    validator.fault(
      ['admin', 'oidc'],
      'commands such as `leadsync reload` cannot log in at a provider, and no token has the role admin',
      'add `token: ${LEADSYNC_ADMIN_TOKEN}` to admin (`openssl rand -hex 32` generates one)',
    );
  const { listen, hosts, public_url: publicUrl } = admin;
  if (listen !== undefined && !isLoopback(listen.host) && publicUrl === undefined && hosts.length === 0)
    validator.fault(
      ['admin', 'oidc'],
      'the provider would not know where to send people back to',
      'set admin.public_url to the address of the pages, such as https://leadsync.example.com',
    );
}

/** Refuses to let other machines reach the admin server without a credential, because the server shows leads. */
function refuseOpenAddress(admin: Admin, validator: TreeValidator): void {
  const { listen, hosts, trusted_proxies: proxies } = admin;
  if (listen === undefined || tokensOf(admin).length > 0) return;
  const fault = (option: 'listen' | 'hosts' | 'trusted_proxies', open: string, instead: string) =>
    validator.fault(
      ['admin', option],
      `other machines can reach ${open}, and no admin.token is set`,
      `add \`token: \${LEADSYNC_ADMIN_TOKEN}\` beside it (\`openssl rand -hex 32\` generates one), or ${instead}`,
    );
  if (!isLoopback(listen.host)) fault('listen', listen.host, 'listen on 127.0.0.1');
  else if (hosts[0] !== undefined) fault('hosts', hosts[0], 'remove this');
  else if (proxies[0] !== undefined) fault('trusted_proxies', `it through ${proxies[0]}`, 'remove this');
}

/** Refuses two tokens with one name or one value, because the audit log could not tell their owners apart. */
function refuseSharedTokens(tokens: readonly NamedToken[], validator: TreeValidator): void {
  for (const [index, { name, token }] of tokens.entries()) {
    const other = tokens.slice(0, index).find((one) => one.name === name || one.token.equals(token));
    if (other === undefined) continue;
    const isSameName = other.name === name;
    validator.fault(
      isSameName ? ['admin', 'tokens', name] : ['admin', 'tokens', name, 'token'],
      isSameName ? '`admin` is the name of admin.token' : `is also the token of ${other.name}`,
      isSameName ? 'choose another name' : 'make another one with `openssl rand -hex 32`',
    );
  }
}
