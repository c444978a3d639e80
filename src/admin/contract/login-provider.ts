import type { IdentityProvider } from '../../identity/contract.ts';
import type { PersonRoles } from '../../platform/options/role.ts';

/** The OpenID provider in the configuration in force, and the roles of the people whom it logs in. */
export interface LoginProvider {
  readonly provider: IdentityProvider;
  readonly roles: PersonRoles;
  /** Address at which people open the pages, without a path. If undefined, the address of the request applies. */
  readonly publicUrl: string | undefined;
  /** Origins whose redirect URI must be registered at the provider, as `leadsync check` prints them. A login can begin only at one of these. */
  readonly origins: readonly string[];
}
