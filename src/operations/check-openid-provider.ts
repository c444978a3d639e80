import { OpenIdProvider } from '../identity/openid-provider.ts';
import type { OidcOptions } from '../identity/options.ts';
import type { Clock } from '../platform/time/clock.ts';
import { type AdminAddresses, addressesToRegister } from './login-redirect-addresses.ts';

/** Checks that the OpenID provider answers and can do what a login needs. Does not log in. @throws LoginFailed */
export async function checkLogin(
  options: OidcOptions,
  addresses: AdminAddresses,
  clock: Clock,
  stop: AbortSignal,
): Promise<string> {
  const provider = new OpenIdProvider(options, { stop, monotonicMs: () => clock.monotonicMs() });
  await provider.check();
  return `The provider answers, and has what a login needs. client_id and client_secret were not tested. ${addressesToRegister(addresses)}`;
}
