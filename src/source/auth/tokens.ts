import { reach } from '../../platform/process/failpoint.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';
import type { SourceError } from '../contract/source.ts';
import { loginRefused, REFUSED_WAIT_MS, waitAfterRefusalMs } from './login-refusal.ts';
import { withRenewalLock } from './renewal-lock.ts';
import { accessTokenIn, originOf, type StoredToken } from './stored-token.ts';
import { HeldToken, type Token } from './token.ts';
import type { TokenEndpoint } from './token-endpoint.ts';
import type { TokenFile } from './token-file.ts';
import { GrantRefused, loginDoubted, loginNeeded, loginUnusable, refusesToken } from './token-refusal.ts';
import { unlessAborted } from './unless-aborted.ts';

/**
 * Where one source's tokens come from and where they are kept. `emit` hears of each renewal, and of a stored one that
 * is of no use.
 */
export interface TokensParts {
  readonly source: string;
  readonly endpoint: TokenEndpoint;
  readonly file: TokenFile;
  /** How long another process may take to renew, in ms. */
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  /**
   * Tries the client's own credentials even where a token of theirs is stored: a good token says nothing of a changed secret. Leaves
   * what is stored as it is, and does not store what is used in its place.
   */
  readonly trial: boolean;
}

/**
 * The access token of one source: from memory, from the file that outlives restarts, or from the service. One renewal
 * at a time, for any number of waiters and over all processes that share the data directory.
 */
export class Tokens {
  readonly #parts: TokensParts;
  #held: HeldToken | undefined;
  /** Got from the service and not on disk yet: not to be used, nor to be forgotten, until it is or the disk holds another. */
  #unsaved: { readonly token: Token /** What was stored. */; readonly after: string | undefined } | undefined;
  #renewal: Promise<string> | undefined;
  readonly #ending = new AbortController();

  constructor(parts: TokensParts) {
    this.#parts = parts;
  }

  /** By the local clock; undefined without a token, or when the service did not say. */
  get expiresAt(): Date | undefined {
    return this.#held?.token.expiresAt;
  }

  /** A token that is good by our clock. @throws SourceError; the signal's reason when it aborts */
  async current(signal: AbortSignal): Promise<string> {
    const held = this.#held;
    if (held?.isGood() && !(await this.#isReplaced(held.token))) return held.token.accessToken;
    return await this.#renewed(undefined, signal);
  }

  /** A token other than this one, which the service refused. @throws SourceError; the signal's reason when it aborts */
  async instead(refused: string, signal: AbortSignal): Promise<string> {
    const { token } = this.#held ?? {};
    if (token !== undefined && token.accessToken !== refused && this.#held?.isGood())
      return token.accessToken;
    const renewed = await this.#renewed(refused, signal);
    // A renewal that was already under way for another reason may have found the refused one in the file.
    return renewed === refused ? await this.#renewed(refused, signal) : renewed;
  }

  /**
   * Begins no renewal any more, and stops waiting for other processes. Resolves when the renewal under way has ended: what
   * it brings is on disk by then, which a service that ends refresh tokens with their use gives only once. What the disk did not
   * take before is offered to it once more.
   */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#renewal?.catch(() => undefined); // its waiters hear of it
    if (this.#unsaved !== undefined) await this.#saveLast().catch(() => undefined); // as the polls said, it cannot be stored
  }

  /** Whoever has made room on a full disk may restart leadsync before the next poll. */
  #saveLast(): Promise<string | undefined> {
    const { source, file, clock, random } = this.#parts;
    const lock = { source, path: file.lockPath, patienceMs: 0, clock, random };
    const save = async () => this.#saveUnsaved(await file.read());
    return withRenewalLock(lock, async () => undefined, save, new AbortController().signal);
  }

  /** Tries whether a login's token could be kept: a code is redeemed only once. @throws SourceError `token-file` */
  probe(): Promise<void> {
    return this.#parts.file.probe();
  }

  /** Keeps a token that a login brought. @throws SourceError `token-file` */
  async keep(token: Token): Promise<void> {
    const { file } = this.#parts;
    await file.prepare();
    await this.#locked(
      async () => undefined,
      async () => {
        // A login of another account is not this one's to overwrite.
        const stored = await file.read();
        if (stored.kind === 'unusable' && stored.origin !== 'client_credentials') await file.setAside();
        await file.sealAll();
        await this.#save(token, 'authorization_code');
        return token.accessToken;
      },
    );
  }

  /** When the stored token of a login was received. A file that cannot be read holds none. */
  async lastLoginAt(): Promise<Date | undefined> {
    const stored = await this.#parts.file.read().catch(() => undefined);
    if (stored?.kind !== 'token' || stored.token.origin !== 'authorization_code') return undefined;
    return stored.token.receivedAt;
  }

  /** Somebody has logged in while this process runs, or another process has renewed. */
  async #isReplaced({ accessToken }: Token): Promise<boolean> {
    if (this.#parts.trial) return false;
    // Without the disk the token in hand is still good.
    const stored = await this.#parts.file.read().catch(() => undefined);
    // When it was received says nothing: the clock may have been set back since.
    return stored?.kind === 'token' && stored.token.accessToken !== accessToken;
  }

  /** Waiters share one renewal, and each may stop waiting without stopping it. */
  #renewed(refused: string | undefined, signal: AbortSignal): Promise<string> {
    if (this.#renewal === undefined) {
      this.#renewal = this.#renew(refused).finally(() => {
        this.#renewal = undefined;
      });
      this.#renewal.catch(() => undefined); // each waiter hears of it; there may be none left
    }
    return unlessAborted(this.#renewal, signal);
  }

  async #renew(refused: string | undefined): Promise<string> {
    await this.#parts.file.prepare();
    return await this.#locked(
      () => this.#takeStored(refused),
      () => this.#takeOrObtain(refused),
    );
  }

  /** Under the lock. */
  async #takeOrObtain(refused: string | undefined): Promise<string> {
    const { file, trial } = this.#parts;
    const stored = await file.takeBack();
    // A key that is only tried must not lock up what the next one should open.
    if (!trial) await file.sealAll();
    return (await this.#takeStored(refused)) ?? (await this.#obtain(stored));
  }

  #locked(look: () => Promise<string | undefined>, renew: () => Promise<string>) {
    const { source, file, patienceMs, clock, random } = this.#parts;
    const lock = { source, path: file.lockPath, patienceMs, clock, random };
    return withRenewalLock(lock, look, renew, this.#ending.signal);
  }

  /** The token in the file, when it is good: from an earlier run, or another process was faster. */
  async #takeStored(refused: string | undefined): Promise<string | undefined> {
    const stored = await this.#parts.file.read();
    if (stored.kind !== 'token' || stored.token.accessToken === refused) return undefined;
    if (this.#parts.trial && stored.token.origin === 'client_credentials') return undefined;
    // The one in hand is here because it is not good; read anew, a clock that was set back would make it so.
    if (stored.token.accessToken === this.#held?.token.accessToken) return undefined;
    const held = new HeldToken(stored.token, this.#parts.clock);
    if (!held.isGood()) return undefined;
    this.#held = held;
    this.#unsaved = undefined; // another process has a newer one
    return stored.token.accessToken;
  }

  /** @param stored read under the lock, because only the newest refresh token is worth anything */
  async #obtain(stored: StoredToken): Promise<string> {
    const saved = await this.#saveUnsaved(stored);
    if (saved !== undefined) return saved;
    if (await this.#parts.file.needsLogin(stored))
      return await this.#save(await this.#refreshLogin(stored), 'refresh_token');
    if (stored.kind === 'unusable') await this.#leaveAside(stored);
    const { endpoint, trial } = this.#parts;
    const refreshed = stored.kind === 'token' && !trial ? await this.#refresh(stored.token) : undefined;
    if (refreshed !== undefined) return await this.#save(refreshed, 'refresh_token');
    const token = await endpoint.clientCredentials();
    return trial && stored.kind !== 'none'
      ? this.#hold(token, 'client_credentials')
      : await this.#save(token, 'client_credentials');
  }

  /** Under the lock. Undefined when there is nothing to save, or somebody has stored another token since: a login, say. */
  async #saveUnsaved(stored: StoredToken): Promise<string | undefined> {
    if (this.#unsaved === undefined) return undefined;
    const { token, after } = this.#unsaved;
    if (stored.kind !== 'unusable' && accessTokenIn(stored) === after)
      return await this.#save(token, token.origin);
    this.#unsaved = undefined;
    return undefined;
  }

  async #leaveAside(stored: StoredToken & { kind: 'unusable' }): Promise<void> {
    const { source, file, emit, trial } = this.#parts;
    if (!trial) await file.setAside();
    else if (stored.origin !== undefined) return; // nobody misses it: the client's own, or not wanted by `grant`
    const fate = trial ? 'The next run sets it aside' : 'It was set aside';
    const reason = `${stored.reason} ${fate}, and takes it back when the configuration fits it again.`;
    emit({ type: 'token-fallback', source, reason });
  }

  /**
   * Renews a person's tokens. Nothing takes their place but another login: as the client itself, leadsync may read another
   * listing, or an empty one, and all would look well. @throws SourceError `login-needed` when somebody has to log in
   */
  async #refreshLogin(stored: StoredToken): Promise<Token> {
    const { source, endpoint, clock, trial } = this.#parts;
    if (originOf(stored) === 'client_credentials' || stored.kind === 'none')
      throw loginNeeded(source, `Nobody has logged in to source ${source}.`);
    if (stored.kind === 'unusable') throw loginUnusable(source, stored.reason);
    const { refreshToken, origin } = stored.token;
    if (refreshToken === undefined)
      throw loginNeeded(source, `${ended(source)}: there is no refresh token to renew it with.`);
    const waitMs = waitAfterRefusalMs(stored.token.refusedAt, clock.now());
    if (waitMs > 0 && !trial) throw loginRefused(source, waitMs);
    try {
      return await endpoint.refresh(refreshToken, origin);
    } catch (error) {
      if (!refusesToken(error)) throw error;
      if (!(error instanceof GrantRefused) || error.oauthError !== 'invalid_grant')
        throw loginDoubted(source, error);
      throw await this.#refusedLogin(stored.token, waitMs, error);
    }
  }

  /**
   * Ends a login when its refresh token is refused for the second time. Services refuse a good one now and then, in a fail-over
   * or while a replica is behind. @param waitMs what is left of the wait after the first refusal
   */
  async #refusedLogin(token: Token, waitMs: number, cause: GrantRefused): Promise<SourceError> {
    const { source, file, clock, trial } = this.#parts;
    if (token.refusedAt === undefined || waitMs > 0) {
      if (!trial) await file.write({ ...token, refusedAt: clock.now() });
      return loginRefused(source, REFUSED_WAIT_MS, cause);
    }
    // It would be refused on every poll.
    if (!trial) await file.write({ ...token, refreshToken: undefined, refusedAt: undefined });
    const why = `${ended(source)}: the service has refused its refresh token twice (invalid_grant).`;
    return loginNeeded(source, why, cause);
  }

  /** Undefined when there is nothing to refresh with, or the service refuses it: the client's credentials do as well. */
  async #refresh({ refreshToken, origin }: Token): Promise<Token | undefined> {
    if (refreshToken === undefined) return undefined;
    const { source, endpoint, file, emit } = this.#parts;
    try {
      return await endpoint.refresh(refreshToken, origin);
    } catch (error) {
      if (!refusesToken(error)) throw error;
      await file.remove(); // it would be tried, and refused, on every poll
      emit({ type: 'token-fallback', source, reason: error.message });
      return undefined;
    }
  }

  /**
   * The new token is on disk before it is first used: its use may end the refresh token before it, and a crash between
   * would leave neither.
   */
  async #save(token: Token, grant: string): Promise<string> {
    const { file } = this.#parts;
    this.#unsaved = { token, after: await file.read().then(accessTokenIn, () => undefined) };
    reach('token-received');
    await file.write(token);
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

function ended(source: string): string {
  return `The login of source ${source} has ended`;
}
