import type { StoredToken } from './stored-token.ts';
import type { Token } from './token.ts';

/**
 * Stores the token of one source, for all processes of an installation, and gives one process at a time the right to renew it. Every method
 * may throw SourceError `token-file`.
 */
export interface TokenStore {
  /** Where the right to renew is kept, for messages. */
  readonly lockPath: string;
  /** Takes the right to renew; undefined if another process has it. The right of a dead process counts as free. */
  tryLock(): Promise<{ release(): void } | undefined>;
  /** Makes the store ready for `write`. */
  prepare(): Promise<void>;
  /** Checks that a token can be read and written. */
  probe(): Promise<void>;
  /** Reads the stored token; returns invalid content as `unusable`. */
  read(): Promise<StoredToken>;
  /**
   * Whether leadsync may use only a login's tokens: the configuration says so, or a person has logged in. A stored login token also shows
   * this, because earlier versions recorded a login only by its tokens.
   */
  needsLogin(stored: StoredToken): Promise<boolean>;
  /**
   * Restores the best token that was set aside and now matches the configuration, unless the stored token is as good. Returns the token that is
   * then stored. The caller must hold the right to renew.
   */
  takeBack(): Promise<StoredToken>;
  /** Encrypts every plain-text token, if there is a key. The caller must hold the right to renew. */
  sealAll(): Promise<void>;
  /** Writes the token durably. The caller must hold the right to renew. */
  write(token: Token): Promise<void>;
  /** Sets an unusable token aside, beside others, because the configuration may return to the key or the account of any of them. */
  setAside(): Promise<void>;
  /** Removes the stored token. */
  remove(): Promise<void>;
}
