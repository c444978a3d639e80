import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../../platform/failures/error-code.ts';
import {
  type Files,
  makeFolderDurably,
  TEMPORARY,
  writeFileDurably,
} from '../../platform/files/file-system.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { SourceError } from '../contract/source.ts';
import { loginNote } from './login-note.ts';
import { tryLock } from './renewal-lock.ts';
import { isBetter, isNewer, originOf, type StoredToken } from './stored-token.ts';
import type { Token, TokenOrigin } from './token.ts';
import { DecryptionFailed, Seal, sealedText } from './token-seal.ts';
import type { TokenStore } from './token-store.ts';

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

/** Suffix of files that were set aside. */
const UNUSABLE = '.unusable';

/** The account whose token is stored, and the file that stores it. All processes that use the data directory share the file. */
export interface TokenFileParts {
  /** The source's name, which is also the name of the file. */
  readonly name: string;
  readonly account: Account;
  readonly dataDir: string;
  /** The key that encrypts the file; undefined: plain text. */
  readonly key: Secret | undefined;
  readonly files: Files;
}

/**
 * The token of one source on disk: `<data_dir>/tokens/<source>.json`, readable by the owner alone (mode 0600). A token that does not match
 * the configuration is set aside as `<source>.json.<hash>.unusable` until the configuration matches again. The first login creates
 * `<source>.login`, which outlives every token: while it exists, leadsync does not use the client's own tokens unless `grant` says so.
 */
export class TokenFile implements TokenStore {
  readonly #name: string;
  readonly #account: Account;
  readonly #files: Files;
  readonly #folder: string;
  readonly #fileName: string;
  readonly #loginName: string;
  readonly #seal: Seal | undefined;

  constructor({ name, account, dataDir, key, files }: TokenFileParts) {
    this.#name = name;
    this.#account = account;
    this.#files = files;
    this.#folder = join(dataDir, 'tokens');
    this.#fileName = `${encodeURIComponent(name)}.json`;
    this.#loginName = `${encodeURIComponent(name)}.login`;
    this.#seal = key && new Seal(key);
  }

  get #path(): string {
    return join(this.#folder, this.#fileName);
  }

  get #loginPath(): string {
    return join(this.#folder, this.#loginName);
  }

  get lockPath(): string {
    return join(this.#folder, `${encodeURIComponent(this.#name)}.lock`);
  }

  async tryLock(): Promise<{ release(): void } | undefined> {
    return tryLock(this.lockPath, this.#name);
  }

  async prepare(): Promise<void> {
    await this.#onDisk('created', () => makeFolderDurably(this.#files, this.#folder, 0o700));
  }

  async probe(): Promise<void> {
    await this.prepare();
    await this.#onDisk('written', () => this.#files.probeFolder(this.#folder));
    await this.read();
  }

  read(): Promise<StoredToken> {
    return this.#read(this.#path);
  }

  async needsLogin(stored: StoredToken): Promise<boolean> {
    const grant = await this.#grant();
    return (grant ?? originOf(stored)) === 'authorization_code';
  }

  async #grant(): Promise<TokenOrigin | undefined> {
    if (this.#account.grant !== undefined) return this.#account.grant;
    const login = await this.#onDisk('read', () => this.#files.read(this.#loginPath));
    return login && 'authorization_code';
  }

  async takeBack(): Promise<StoredToken> {
    const stored = await this.read();
    const fitting = await this.#bestSetAside();
    if (fitting === undefined || !isBetter(fitting.token, stored)) return stored;
    if (stored.kind === 'unusable') await this.setAside();
    await this.#onDisk('restored', () => this.#files.rename(fitting.path, this.#path));
    return await this.read();
  }

  async sealAll(): Promise<void> {
    if (this.#seal === undefined) return;
    for (const path of [this.#path, ...(await this.#setAsidePaths())]) {
      const bytes = await this.#onDisk('read', () => this.#files.read(path));
      const text = bytes?.toString('utf8').trim() ?? '';
      if (text !== '' && !isSealed(text)) await this.#write(path, text);
    }
  }

  async #bestSetAside(): Promise<{ path: string; token: Token } | undefined> {
    let best: { path: string; token: Token } | undefined;
    for (const path of await this.#setAsidePaths()) {
      const found = await this.#read(path);
      const isBest = found.kind === 'token' && (best === undefined || isNewer(found.token, best.token));
      if (isBest) best = { path, token: found.token };
    }
    return best;
  }

  async #setAsidePaths(): Promise<string[]> {
    const names = await this.#onDisk('read', () => this.#files.list(this.#folder));
    const ours = names.filter((name) => name.startsWith(`${this.#fileName}.`) && name.endsWith(UNUSABLE));
    return ours.map((name) => join(this.#folder, name));
  }

  async #read(path: string): Promise<StoredToken> {
    const bytes = await this.#onDisk('read', () => this.#files.read(path));
    if (bytes === undefined) return { kind: 'none' };
    try {
      const stored = content.safeParse(await this.#open(bytes.toString('utf8')));
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
    await this.#write(this.#path, plain);
  }

  /** Renames the file to a name derived from its content, so that several files can be kept. */
  async setAside(): Promise<void> {
    await this.#onDisk('set aside', async () => {
      const bytes = (await this.#files.read(this.#path)) ?? Buffer.alloc(0);
      const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
      await this.#files.rename(this.#path, `${this.#path}.${hash}${UNUSABLE}`);
      await this.#files.syncFolder(this.#folder);
    });
  }

  async remove(): Promise<void> {
    await this.#onDisk('removed', () => this.#files.remove(this.#path));
  }

  async #write(path: string, plain: string): Promise<void> {
    const text = this.#seal ? JSON.stringify(await this.#seal.close(plain, this.#name)) : plain;
    await this.#writeText(path, `${text}\n`);
  }

  /**
   * Writes the file that records a login, unless it exists. Runs before the first token of the login is written, so that no such token
   * exists without this file. The file is never encrypted, because it must outlive the key.
   */
  async #noteLogin(at: Date): Promise<void> {
    const noted = await this.#onDisk('read', () => this.#files.read(this.#loginPath));
    if (noted === undefined) await this.#writeText(this.#loginPath, loginNote(this.#name, at));
  }

  async #writeText(path: string, text: string): Promise<void> {
    await this.#onDisk('written', async () => {
      await this.#removeLeftovers();
      await writeFileDurably(this.#files, path, Buffer.from(text), 0o600);
    });
  }

  async #open(text: string): Promise<unknown> {
    const value: unknown = JSON.parse(text);
    const sealed = sealedText.safeParse(value);
    if (!sealed.success) return value;
    if (this.#seal === undefined)
      throw new DecryptionFailed('the file is encrypted, and no key is configured');
    return JSON.parse(await this.#seal.open(sealed.data, this.#name));
  }

  #unusable(what: string, origin?: TokenOrigin): StoredToken {
    const reason = `The stored token of source ${this.#name} ${what} (${this.#path}).`;
    return { kind: 'unusable', reason, origin };
  }

  /** Removes temporary files. A crash during a write leaves one that contains a token. */
  async #removeLeftovers(): Promise<void> {
    for (const name of await this.#files.list(this.#folder)) {
      const ours = [this.#fileName, this.#loginName].some((own) => name.startsWith(`.${own}.`));
      if (ours && TEMPORARY.test(name)) await this.#files.remove(join(this.#folder, name));
    }
  }

  async #onDisk<T>(step: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      const code = codeOf(error) ?? 'unknown error';
      throw new SourceError(
        'token-file',
        `The token file of source ${this.#name} cannot be ${step} (${code}): ${this.#path}.`,
        {
          hint: 'Check that the user that leadsync runs as owns data_dir, and that the disk is not full.',
          cause: error,
        },
      );
    }
  }
}

function isSealed(text: string): boolean {
  try {
    return sealedText.safeParse(JSON.parse(text)).success;
  } catch {
    return false; // not JSON: possibly part of a token, so encrypt it too
  }
}
