import type { LoginProvider } from '../../admin/contract/login-provider.ts';
import type { Config } from '../../config/contract/config.ts';
import { OpenIdProvider, type ProviderParts } from '../../identity/openid-provider.ts';
import { type AdminAddresses, loginOrigins } from '../../operations/login-redirect-addresses.ts';

/**
 * Returns a function that returns the OpenID provider of the configuration in force, if any. That function sends no request to the provider. After a
 * reload, it returns a new object, so that leadsync reads the provider's configuration again.
 */
export function loginProvider(
  config: () => Pick<Config, 'adminLogin'> & AdminAddresses,
  parts: ProviderParts,
): () => LoginProvider | undefined {
  let options: unknown;
  let provider: OpenIdProvider | undefined;
  return () => {
    const current = config();
    const { adminLogin, publicUrl } = current;
    if (adminLogin === undefined) return undefined;
    if (provider === undefined || adminLogin.provider !== options) {
      provider = new OpenIdProvider(adminLogin.provider, parts);
      options = adminLogin.provider;
    }
    return { provider, roles: adminLogin.roles, publicUrl, origins: loginOrigins(current) };
  };
}
