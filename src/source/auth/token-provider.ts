import { reach } from '../../platform/process/failpoint.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';
import { refreshLogin } from './refresh-login.ts';
import { withRenewalLock } from './renewal-lock.ts';
import { accessTokenIn, type StoredToken } from './stored-token.ts';
import { HeldToken, type Token } from './token.ts';
import type { TokenEndpoint } from './token-endpoint.ts';
import { refusesToken } from './token-refusal.ts';
import type { TokenStore } from './token-store.ts';
import { unlessAborted } from './unless-aborted.ts';

/** Dependencies of one source's tokens. `emit` receives an event for each renewal and for each stored token that leadsync cannot use. */
export interface TokenProviderParts {
  readonly source: string;
  readonly endpoint: TokenEndpoint;
  readonly store: TokenStore;
  /** Maximum time to wait for a renewal by another process, in ms. */
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  /**
   * Tries the client's own credentials even if a token for them is stored: a valid token does not prove that the secret is still right.
   * Leaves that stored token unchanged, and does not store the new one.
   */
  readonly trial: boolean;
}

/**
 * Supplies the access token of one source: from memory, from the token store, or from the service. Renewal is a single flight: any number of
 * callers, in all processes that share the data directory, wait for the same renewal.
 */
export class TokenProvider {
  readonly #parts: TokenProviderParts;
  #held: HeldToken | undefined;
  /**
   * A token that could not be written yet, and the access token that was stored before (`after`). The new token must not be used before it
   * is on disk, and must not be dropped unless the disk holds another token.
   */
  #unsaved: { readonly token: Token; readonly after: string | undefined } | undefined;
  #renewal: Promise<string> | undefined;
  readonly #ending = new AbortController();

  constructor(parts: TokenProviderParts) {
    this.#parts = parts;
  }

  /** When the token in memory expires, by the local clock; undefined if there is no token, or if the service did not state its expiry. */
  get expiresAt(): Date | undefined {
    return this.#held?.token.expiresAt;
  }

  /** Returns a token that is not due for renewal by the local clock. @throws SourceError; the signal's reason if it aborts */
  async current(signal: AbortSignal): Promise<string> {
    const held = this.#held;
    if (held?.isGood() && !(await this.#isReplaced(held.token))) return held.token.accessToken;
    return await this.#renewed(undefined, signal);
  }

  /** Returns a token other than the refused one. @throws SourceError; the signal's reason if it aborts */
  async otherThan(refused: string, signal: AbortSignal): Promise<string> {
    const { token } = this.#held ?? {};
    if (token !== undefined && token.accessToken !== refused && this.#held?.isGood())
      return token.accessToken;
    const renewed = await this.#renewed(refused, signal);
    // A renewal that was already in progress may have read the refused token from the store.
    return renewed === refused ? await this.#renewed(refused, signal) : renewed;
  }

  /**
   * Starts no further renewal and stops waiting for other processes. Resolves when the renewal in progress has ended and its token is
   * on disk: a service that rotates refresh tokens issues each only once. Tries again to write a token that could not be written.
   */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#renewal?.catch(() => undefined); // its callers get the error
    if (this.#unsaved !== undefined) await this.#saveLast().catch(() => undefined); // the polls have reported that it cannot be stored
  }

  /** Tries to write the unsaved token: an operator who has freed space on a full disk may restart leadsync before the next poll. */
  #saveLast(): Promise<string | undefined> {
    const { source, store, clock, random } = this.#parts;
    const lock = { source, store, patienceMs: 0, clock, random };
    const save = async () => this.#saveUnsaved(await store.read());
    return withRenewalLock(lock, async () => undefined, save, new AbortController().signal);
  }

  /** Checks that a login's token can be stored, because a code can be redeemed only once. @throws SourceError `token-file` */
  probe(): Promise<void> {
    return this.#parts.store.probe();
  }

  /** Stores the token of a login. @throws SourceError `token-file` */
  async keep(token: Token): Promise<void> {
    const { store } = this.#parts;
    await store.prepare();
    await this.#locked(
      async () => undefined,
      async () => {
        // Do not overwrite the login of another account.
        const stored = await store.read();
        if (stored.kind === 'unusable' && stored.origin !== 'client_credentials') await store.setAside();
        await store.sealAll();
        await this.#save(token, 'authorization_code');
        return token.accessToken;
      },
    );
  }

  /** Returns when the stored login token was received; undefined if there is none or it cannot be read. */
  async lastLoginAt(): Promise<Date | undefined> {
    const stored = await this.#parts.store.read().catch(() => undefined);
    if (stored?.kind !== 'token' || stored.token.origin !== 'authorization_code') return undefined;
    return stored.token.receivedAt;
  }

  /** Whether a login or another process has replaced the stored token. */
  async #isReplaced({ accessToken }: Token): Promise<boolean> {
    if (this.#parts.trial) return false;
    // If the disk fails, the token in memory is still good.
    const stored = await this.#parts.store.read().catch(() => undefined);
    // Does not compare the times at which the tokens were received: the clock may have been set back since.
    return stored?.kind === 'token' && stored.token.accessToken !== accessToken;
  }

  /** Returns the renewed token. Callers share one renewal; a caller that stops waiting does not stop it. */
  #renewed(refused: string | undefined, signal: AbortSignal): Promise<string> {
    if (this.#renewal === undefined) {
      this.#renewal = this.#renew(refused).finally(() => {
        this.#renewal = undefined;
      });
      this.#renewal.catch(() => undefined); // each caller gets the error; all of them may have stopped waiting
    }
    return unlessAborted(this.#renewal, signal);
  }

  async #renew(refused: string | undefined): Promise<string> {
    await this.#parts.store.prepare();
    return await this.#locked(
      () => this.#takeStored(refused),
      () => this.#takeOrObtain(refused),
    );
  }

  /** Takes a good token from the store; if there is none, obtains one from the service. The caller must hold the lock. */
  async #takeOrObtain(refused: string | undefined): Promise<string> {
    const { store, trial } = this.#parts;
    const stored = await store.takeBack();
    // A trial must not encrypt tokens with a key that is not in use yet.
    if (!trial) await store.sealAll();
    return (await this.#takeStored(refused)) ?? (await this.#obtain(stored));
  }

  #locked(look: () => Promise<string | undefined>, renew: () => Promise<string>) {
    const { source, store, patienceMs, clock, random } = this.#parts;
    const lock = { source, store, patienceMs, clock, random };
    return withRenewalLock(lock, look, renew, this.#ending.signal);
  }

  /** Takes a good token that an earlier run or another process has stored; returns undefined if there is none. */
  async #takeStored(refused: string | undefined): Promise<string | undefined> {
    const stored = await this.#parts.store.read();
    if (stored.kind !== 'token' || stored.token.accessToken === refused) return undefined;
    if (this.#parts.trial && stored.token.origin === 'client_credentials') return undefined;
    // This token is in memory and no longer good. A new HeldToken would make it look good again if the clock was set back.
    if (stored.token.accessToken === this.#held?.token.accessToken) return undefined;
    const held = new HeldToken(stored.token, this.#parts.clock);
    if (!held.isGood()) return undefined;
    this.#held = held;
    this.#unsaved = undefined; // another process has a newer one
    return stored.token.accessToken;
  }

  /** Obtains a token from the service. @param stored read under the lock, because only the newest refresh token is valid */
  async #obtain(stored: StoredToken): Promise<string> {
    const saved = await this.#saveUnsaved(stored);
    if (saved !== undefined) return saved;
    if (await this.#parts.store.needsLogin(stored))
      return await this.#save(await refreshLogin(this.#parts, stored), 'refresh_token');
    if (stored.kind === 'unusable') await this.#leaveAside(stored);
    const { endpoint, trial } = this.#parts;
    const refreshed = stored.kind === 'token' && !trial ? await this.#refresh(stored.token) : undefined;
    if (refreshed !== undefined) return await this.#save(refreshed, 'refresh_token');
    const token = await endpoint.clientCredentials();
    return trial && stored.kind !== 'none'
      ? this.#hold(token, 'client_credentials')
      : await this.#save(token, 'client_credentials');
  }

  /**
   * Writes the unsaved token; returns undefined if there is none, or if another token, such as one from a login, has been stored since. The caller
   * must hold the lock.
   */
  async #saveUnsaved(stored: StoredToken): Promise<string | undefined> {
    if (this.#unsaved === undefined) return undefined;
    const { token, after } = this.#unsaved;
    if (stored.kind !== 'unusable' && accessTokenIn(stored) === after)
      return await this.#save(token, token.origin);
    this.#unsaved = undefined;
    return undefined;
  }

  async #leaveAside(stored: StoredToken & { kind: 'unusable' }): Promise<void> {
    const { source, store, emit, trial } = this.#parts;
    if (!trial) await store.setAside();
    else if (stored.origin !== undefined) return; // nothing to report: one of the client's own tokens, or a token that `grant` excludes
    const fate = trial ? 'The next run will set it aside' : 'It was set aside';
    const reason = `${stored.reason} ${fate}. leadsync uses it again when the configuration matches it.`;
    emit({ type: 'token-fallback', source, reason });
  }

  /**
   * Refreshes the client's own token. Returns undefined if there is no refresh token, or if the service refuses it; the caller then obtains
   * a token with the client credentials grant.
   */
  async #refresh({ refreshToken, origin }: Token): Promise<Token | undefined> {
    if (refreshToken === undefined) return undefined;
    const { source, endpoint, store, emit } = this.#parts;
    store.requireRight();
    try {
      return await endpoint.refresh(refreshToken, origin);
    } catch (error) {
      if (!refusesToken(error)) throw error;
      await store.remove(); // otherwise every poll would send it again and be refused
      emit({ type: 'token-fallback', source, reason: error.message });
      return undefined;
    }
  }

  /**
   * Writes the new token before its first use: the service may have revoked the old refresh token already, and a crash before the write
   * would then lose both.
   */
  async #save(token: Token, grant: string): Promise<string> {
    const { store } = this.#parts;
    this.#unsaved = { token, after: await store.read().then(accessTokenIn, () => undefined) };
    reach('token-received');
    await store.write(token);
    reach('token-saved');
    this.#unsaved = undefined;
    return this.#hold(token, grant);
  }

  #hold(token: Token, grant: string): string {
    const { source, clock, emit } = this.#parts;
    this.#held = new HeldToken(token, clock);
    emit({ type: 'token-renewed', source, grant, expiresAt: token.expiresAt });
    return token.accessToken;
  }
}
