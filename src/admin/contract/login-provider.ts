import type { IdentityProvider } from '../../identity/contract.ts';
import type { PersonRoles } from '../../platform/options/role.ts';

/** The OpenID provider of the configuration in force, and what the people whom it logs in may do. */
export interface LoginProvider {
  readonly provider: IdentityProvider;
  readonly roles: PersonRoles;
  /** Address at which people open the pages, without a path. Undefined: that of their request. */
  readonly publicUrl: string | undefined;
  /** Origins whose redirect URI has to be registered at the provider, as `leadsync check` prints them. A login begins at no other. */
  readonly origins: readonly string[];
}
