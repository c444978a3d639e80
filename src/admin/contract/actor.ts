import { AsyncLocalStorage } from 'node:async_hooks';

/** Who asks: what they showed, and from where. */
export interface Actor {
  /** `loopback`: nothing had to be shown. */
  readonly who: 'token' | 'session' | 'loopback';
  readonly address: string;
}

/** Who asks for what is done at this moment. */
export const actor = new AsyncLocalStorage<Actor>();
