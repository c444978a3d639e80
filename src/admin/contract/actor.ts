import { AsyncLocalStorage } from 'node:async_hooks';

/** The client of a request: how it authenticated, and its address. */
export interface Actor {
  /** Kind of credential; `loopback` means that no credential was required. */
  readonly who: 'token' | 'session' | 'loopback';
  readonly address: string;
}

/** Client of the request that is being handled. */
export const actor = new AsyncLocalStorage<Actor>();
