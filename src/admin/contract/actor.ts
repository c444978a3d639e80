import { AsyncLocalStorage } from 'node:async_hooks';
import type { Role } from '../../platform/options/role.ts';

/** The client of a request: who it is, how it came in, what it may do, and its address. */
export interface Actor {
  /**
   * Name of the person or program: of a token, `admin` for `admin.token`, or as a proxy or an OpenID provider says. `loopback` if no credential is
   * required.
   */
  readonly who: string;
  /**
   * Kind of credential: a token; a `session` that began with one; `oidc` for a session that began with a login at an OpenID provider; `proxy` if a
   * trusted proxy names the person; `loopback` if none is required.
   */
  readonly via: 'token' | 'session' | 'oidc' | 'proxy' | 'loopback';
  readonly role: Role;
  /** Of a person whom an OpenID provider logged in: the claim `sub`, which tells people with one name apart. */
  readonly subject?: string;
  /** The provider that the subject belongs to. */
  readonly issuer?: string;
  readonly address: string;
}

/** Client of the request that is being handled. */
export const actor = new AsyncLocalStorage<Actor>();
