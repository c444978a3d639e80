import type { Config } from '../config/contract/config.ts';
import { CALLBACK_PATH } from '../identity/contract.ts';
import { hostAndPort } from '../platform/http/address.ts';

/** Addresses of the admin server, as its configuration names them. */
export type AdminAddresses = Pick<Config, 'admin' | 'adminHosts' | 'publicUrl'>;

/** Returns a sentence with the addresses that must be registered at the OpenID provider. */
export function addressesToRegister(config: AdminAddresses): string {
  const origins = loginOrigins(config);
  const redirects = origins.map((origin) => origin + CALLBACK_PATH).join(' and ');
  const logouts = origins.map((origin) => `${origin}/login`).join(' and ');
  return `Register at the provider: ${redirects} as redirect URI, ${logouts} as post-logout redirect URI.`;
}

/**
 * Returns the origins at which a login may begin: that of `public_url`; without it, those of all `hosts` over HTTPS; without either, that
 * of `listen`.
 */
export function loginOrigins({ admin, adminHosts, publicUrl }: AdminAddresses): readonly string[] {
  if (publicUrl !== undefined) return [publicUrl];
  if (adminHosts.length > 0) return adminHosts.map((host) => `https://${host}`);
  return admin === undefined ? [] : [`http://${hostAndPort(admin)}`];
}
