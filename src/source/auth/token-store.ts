import { createHash } from 'node:crypto';
import { z } from 'zod';
import { codeOf } from '../../platform/failures/error-code.ts';
import type { DocumentLock, DocumentStore } from '../../platform/files/document-store.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { SourceError } from '../contract/source.ts';
import { loginNote } from './login-note.ts';
import { isBetter, isNewer, originOf, type StoredToken } from './stored-token.ts';
import type { Token, TokenOrigin } from './token.ts';
import { DecryptionFailed, isSealed, Seal, sealedText } from './token-seal.ts';

/** The account that a token belongs to. leadsync does not use a token of another account, for other scopes, or from another grant. */
export interface Account {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly scope: string | undefined;
  /** The grant that tokens must originate from. If undefined: either grant until a person has logged in, then only a login. */
  readonly grant: TokenOrigin | undefined;
}

const time = z.iso.datetime().transform((text) => new Date(text));

const content = z.strictObject({
  version: z.literal(1),
  base_url: z.string(),
  client_id: z.string(),
  scope: z.string().optional(),
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).optional(),
  origin: z.enum(['client_credentials', 'authorization_code']),
  received_at: time,
  expires_at: time.optional(),
  refused_at: time.optional(),
});

/** End of the names of documents that were set aside. */
const UNUSABLE = '.unusable';

/** The account whose token is stored, and the documents that hold the tokens of all sources. */
export interface TokenStoreParts {
  /** The source's name, from which the names of its documents are made. */
  readonly name: string;
  readonly account: Account;
  readonly documents: DocumentStore;
  /** The key that encrypts the token; undefined: plain text. */
  readonly key: Secret | undefined;
}

/**
 * Stores the token of one source, for all processes of an installation, as the document `<source>.json`, and gives one process at a time the right to
 * renew it. A token that does not match the configuration is set aside as `<source>.json.<hash>.unusable` until the configuration matches again. The first
 * login creates `<source>.login`, which outlives every token: while it exists, leadsync does not use the client's own tokens unless `grant` says so.
 * Every method may throw SourceError `token-file`.
 */
export class TokenStore {
  readonly #name: string;
  readonly #account: Account;
  readonly #documents: DocumentStore;
  readonly #documentName: string;
  readonly #loginName: string;
  readonly #seal: Seal | undefined;
  /** The right to renew, while this store has it. Changes are made under it. */
  #right: DocumentLock | undefined;

  constructor({ name, account, documents, key }: TokenStoreParts) {
    this.#name = name;
    this.#account = account;
    this.#documents = documents;
    this.#documentName = `${encodeURIComponent(name)}.json`;
    this.#loginName = `${encodeURIComponent(name)}.login`;
    this.#seal = key && new Seal(key);
  }

  /** Where the right to renew is kept, for messages. */
  get lockPlace(): string {
    return this.#documents.placeOf(`${encodeURIComponent(this.#name)}.lock`);
  }

  /** Takes the right to renew; undefined if another process has it. The right of a dead process becomes free. */
  async tryLock(): Promise<Pick<DocumentLock, 'release'> | undefined> {
    const right = await this.#stored('locked', () => this.#documents.tryLock(encodeURIComponent(this.#name)));
    if (right === undefined) return undefined;
    this.#right = right;
    const release = async () => {
      this.#right = undefined;
      await right.release();
    };
    return { release };
  }

  /**
   * Makes sure that no other process can have the right to renew. Must be called before a refresh token is sent: a service may end a login
   * whose refresh token is used twice. @throws SourceError `token-file`
   */
  requireRight(): void {
    if (this.#right?.isHeld() !== false) return;
    throw new SourceError(
      'token-file',
      `The token of source ${this.#name} was not renewed: this leadsync stood still, or could not reach ${this.lockPlace}, so another one may be renewing it.`,
      { hint: this.#documents.hint },
    );
  }

  /** Makes the store ready for `write`. */
  async prepare(): Promise<void> {
    await this.#stored('created', () => this.#documents.prepare());
  }

  /** Checks that a token can be read and written. */
  async probe(): Promise<void> {
    await this.prepare();
    await this.#stored('written', () => this.#documents.probe());
    await this.read();
  }

  /** Reads the stored token; returns invalid content as `unusable`. */
  read(): Promise<StoredToken> {
    return this.#read(this.#documentName);
  }

  /**
   * Whether leadsync may use only a login's tokens: the configuration says so, or a person has logged in. A stored login token also shows
   * this, because earlier versions recorded a login only by its tokens.
   */
  async needsLogin(stored: StoredToken): Promise<boolean> {
    const grant = await this.#grant();
    return (grant ?? originOf(stored)) === 'authorization_code';
  }

  async #grant(): Promise<TokenOrigin | undefined> {
    if (this.#account.grant !== undefined) return this.#account.grant;
    const login = await this.#readText(this.#loginName);
    return login === undefined ? undefined : 'authorization_code';
  }

  /**
   * Restores the best token that was set aside and now matches the configuration, unless the stored token is as good. Returns the token that is
   * then stored. The caller must hold the right to renew.
   */
  async takeBack(): Promise<StoredToken> {
    const stored = await this.read();
    const fitting = await this.#bestSetAside();
    if (fitting === undefined || !isBetter(fitting.token, stored)) return stored;
    if (stored.kind === 'unusable') await this.setAside();
    await this.#stored('restored', () =>
      this.#documents.rename(fitting.name, this.#documentName, this.#right),
    );
    return await this.read();
  }

  /** Encrypts every plain-text token, if there is a key. The caller must hold the right to renew. */
  async sealAll(): Promise<void> {
    if (this.#seal === undefined) return;
    for (const name of [this.#documentName, ...(await this.#namesSetAside())]) {
      const text = (await this.#readText(name))?.trim() ?? '';
      if (text !== '' && !isSealed(text)) await this.#write(name, text);
    }
  }

  async #bestSetAside(): Promise<{ name: string; token: Token } | undefined> {
    let best: { name: string; token: Token } | undefined;
    for (const name of await this.#namesSetAside()) {
      const found = await this.#read(name);
      const isBest = found.kind === 'token' && (best === undefined || isNewer(found.token, best.token));
      if (isBest) best = { name, token: found.token };
    }
    return best;
  }

  async #namesSetAside(): Promise<string[]> {
    const names = await this.#stored('read', () => this.#documents.names());
    return names.filter((name) => name.startsWith(`${this.#documentName}.`) && name.endsWith(UNUSABLE));
  }

  #readText(name: string): Promise<string | undefined> {
    return this.#stored('read', () => this.#documents.read(name));
  }

  async #read(name: string): Promise<StoredToken> {
    const text = await this.#readText(name);
    if (text === undefined) return { kind: 'none' };
    try {
      const stored = content.safeParse(await this.#open(text));
      if (!stored.success) return this.#unusable('does not contain a token');
      const { base_url, client_id, scope, access_token, refresh_token, origin } = stored.data;
      const { baseUrl, clientId, scope: ours } = this.#account;
      if (base_url !== baseUrl || client_id !== clientId || scope !== ours)
        return this.#unusable('belongs to another base_url, client_id or scope', origin);
      const grant = await this.#grant();
      if (grant !== undefined && grant !== origin)
        return this.#unusable(`was obtained by the grant ${origin}, but the source uses ${grant}`, origin);
      const { received_at: receivedAt, expires_at: expiresAt, refused_at: refusedAt } = stored.data;
      const times = { receivedAt, expiresAt, refusedAt };
      return {
        kind: 'token',
        token: { accessToken: access_token, refreshToken: refresh_token, origin, ...times },
      };
    } catch (error) {
      if (error instanceof SyntaxError) return this.#unusable('is not JSON');
      if (error instanceof DecryptionFailed)
        return this.#unusable('cannot be decrypted with tokens.encryption_key');
      throw error;
    }
  }

  /** Writes the token durably. The caller must hold the right to renew. */
  async write(token: Token): Promise<void> {
    if (token.origin === 'authorization_code') await this.#noteLogin(token.receivedAt);
    const { baseUrl, clientId, scope } = this.#account;
    const plain = JSON.stringify({
      version: 1,
      base_url: baseUrl,
      client_id: clientId,
      scope,
      access_token: token.accessToken,
      refresh_token: token.refreshToken,
      origin: token.origin,
      received_at: token.receivedAt,
      expires_at: token.expiresAt,
      refused_at: token.refusedAt,
    });
    await this.#write(this.#documentName, plain);
  }

  /** Sets an unusable token aside, beside others, because the configuration may return to the key or the account of any of them. */
  async setAside(): Promise<void> {
    const text = (await this.#readText(this.#documentName)) ?? '';
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    await this.#stored('set aside', () =>
      this.#documents.rename(this.#documentName, `${this.#documentName}.${hash}${UNUSABLE}`, this.#right),
    );
  }

  /** Removes the stored token. */
  async remove(): Promise<void> {
    await this.#stored('removed', () => this.#documents.remove(this.#documentName, this.#right));
  }

  async #write(name: string, plain: string): Promise<void> {
    const text = this.#seal ? JSON.stringify(await this.#seal.close(plain, this.#name)) : plain;
    await this.#writeText(name, `${text}\n`);
  }

  /**
   * Writes the document that records a login, unless it exists. Runs before the first token of the login is written, so that no such token
   * exists without it. It is never encrypted, because it must outlive the key.
   */
  async #noteLogin(at: Date): Promise<void> {
    const noted = await this.#readText(this.#loginName);
    if (noted === undefined) await this.#writeText(this.#loginName, loginNote(this.#name, at));
  }

  async #writeText(name: string, text: string): Promise<void> {
    await this.#stored('written', () => this.#documents.write(name, text, this.#right));
  }

  async #open(text: string): Promise<unknown> {
    const value: unknown = JSON.parse(text);
    const sealed = sealedText.safeParse(value);
    if (!sealed.success) return value;
    if (this.#seal === undefined)
      throw new DecryptionFailed('the token is encrypted, and no key is configured');
    return JSON.parse(await this.#seal.open(sealed.data, this.#name));
  }

  #unusable(what: string, origin?: TokenOrigin): StoredToken {
    const place = this.#documents.placeOf(this.#documentName);
    return {
      kind: 'unusable',
      reason: `The stored token of source ${this.#name} ${what} (${place}).`,
      origin,
    };
  }

  async #stored<T>(step: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      const code = codeOf(error) ?? 'unknown error';
      const place = this.#documents.placeOf(this.#documentName);
      throw new SourceError(
        'token-file',
        `The stored token of source ${this.#name} cannot be ${step} (${code}): ${place}.`,
        { hint: this.#documents.hint, cause: error },
      );
    }
  }
}
