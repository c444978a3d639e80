import { AsyncLocalStorage } from 'node:async_hooks';
import type { Role } from '../../platform/options/role.ts';

/** The client of a request: its name, its kind of credential, its role and its address. */
export interface Actor {
  /**
   * Name of the person or program: the name of the token, `admin` for `admin.token`, or the name from a proxy or an OpenID provider. `loopback`
   * if no credential is required.
   */
  readonly who: string;
  /**
   * Kind of credential: a token; a `session` that began with one; `oidc` for a session that began with a login at an OpenID provider; `proxy` if a
   * trusted proxy names the person; `loopback` if none is required.
   */
  readonly via: 'token' | 'session' | 'oidc' | 'proxy' | 'loopback';
  readonly role: Role;
  /** Claim `sub` of a person whom an OpenID provider logged in. It distinguishes people with the same name. */
  readonly subject?: string;
  /** Issuer within which the subject is unique. */
  readonly issuer?: string;
  readonly address: string;
  /** Whether the client, a command on this machine, has recorded its action in the audit log itself. */
  readonly isRecorded?: true;
}

/** Client of the request that is being handled. */
export const actor = new AsyncLocalStorage<Actor>();
