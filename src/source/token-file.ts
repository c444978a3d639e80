import { join } from 'node:path';
import { z } from 'zod';
import { type Files, makeFolderDurably, TEMPORARY, writeFileDurably } from '../platform/files.ts';
import type { Secret } from '../platform/secret.ts';
import { SourceError } from './source.ts';
import type { Token } from './token.ts';
import { Seal, SealBroken, sealedText } from './token-seal.ts';

/** Whose token it is. A token of another account, or for other scopes, is not used. */
export interface Account {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly scope: string | undefined;
}

/** What was found in the file. */
export type StoredToken =
  | { readonly kind: 'token'; readonly token: Token }
  | { readonly kind: 'none' }
  /** There is a file, and no token that can be used in it. */
  | { readonly kind: 'unusable'; readonly reason: string };

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
});

export interface TokenFileParts {
  /** The source's name; the file is named after it. */
  readonly name: string;
  readonly account: Account;
  readonly dataDir: string;
  /** Encrypts what is written; undefined: plain text. */
  readonly key: Secret | undefined;
  readonly files: Files;
}

/** The token of one source on disk: `<data_dir>/tokens/<source>.json`, for nobody else to read (mode 0600). */
export class TokenFile {
  readonly #name: string;
  readonly #account: Account;
  readonly #files: Files;
  readonly #folder: string;
  readonly #fileName: string;
  readonly #seal: Seal | undefined;

  constructor({ name, account, dataDir, key, files }: TokenFileParts) {
    this.#name = name;
    this.#account = account;
    this.#files = files;
    this.#folder = join(dataDir, 'tokens');
    this.#fileName = `${encodeURIComponent(name)}.json`;
    this.#seal = key && new Seal(key);
  }

  get #path(): string {
    return join(this.#folder, this.#fileName);
  }

  /** Stands for the right to renew; see `withRenewalLock`. */
  get lockPath(): string {
    return join(this.#folder, `${encodeURIComponent(this.#name)}.lock`);
  }

  /** Makes the folder. @throws SourceError `token-file` */
  async prepare(): Promise<void> {
    await this.#onDisk('made', () => makeFolderDurably(this.#files, this.#folder, 0o700));
  }

  /** @throws SourceError `token-file` when the disk refuses; what is wrong with the content is no error */
  async read(): Promise<StoredToken> {
    const bytes = await this.#onDisk('read', () => this.#files.read(this.#path));
    if (bytes === undefined) return { kind: 'none' };
    try {
      const stored = content.safeParse(await this.#open(bytes.toString('utf8')));
      if (!stored.success) return this.#unusable('holds something else than a token');
      const { base_url, client_id, scope, access_token, refresh_token, origin } = stored.data;
      const { baseUrl, clientId, scope: ours } = this.#account;
      if (base_url !== baseUrl || client_id !== clientId || scope !== ours)
        return this.#unusable('belongs to another base_url, client_id or scope');
      const { received_at: receivedAt, expires_at: expiresAt } = stored.data;
      const token = { accessToken: access_token, refreshToken: refresh_token, origin, receivedAt, expiresAt };
      return { kind: 'token', token };
    } catch (error) {
      if (error instanceof SyntaxError) return this.#unusable('is not JSON');
      if (error instanceof SealBroken)
        return this.#unusable('cannot be decrypted with tokens.encryption_key');
      throw error;
    }
  }

  /** Survives a power cut once this has resolved. To be called under the lock. @throws SourceError `token-file` */
  async write(token: Token): Promise<void> {
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
    });
    const text = this.#seal ? JSON.stringify(await this.#seal.close(plain, this.#name)) : plain;
    await this.#onDisk('written', async () => {
      await this.#removeLeftovers();
      await writeFileDurably(this.#files, this.#path, Buffer.from(`${text}\n`), 0o600);
    });
  }

  /** Keeps an unusable file under another name: a right key may come back. @throws SourceError `token-file` */
  async setAside(): Promise<void> {
    await this.#onDisk('set aside', () => this.#files.rename(this.#path, `${this.#path}.unusable`));
  }

  /** @throws SourceError `token-file` */
  async remove(): Promise<void> {
    await this.#onDisk('removed', () => this.#files.remove(this.#path));
  }

  async #open(text: string): Promise<unknown> {
    const value: unknown = JSON.parse(text);
    const sealed = sealedText.safeParse(value);
    if (!sealed.success) return value;
    if (this.#seal === undefined) throw new SealBroken('it is encrypted, and there is no key');
    return JSON.parse(await this.#seal.open(sealed.data, this.#name));
  }

  #unusable(what: string): StoredToken {
    return { kind: 'unusable', reason: `The stored token of source ${this.#name} ${what} (${this.#path}).` };
  }

  /** A crash in the middle of writing leaves a temporary file, with a token in it. */
  async #removeLeftovers(): Promise<void> {
    for (const name of await this.#files.list(this.#folder)) {
      const ours = TEMPORARY.test(name) && name.startsWith(`.${this.#fileName}.`);
      if (ours) await this.#files.remove(join(this.#folder, name));
    }
  }

  async #onDisk<T>(step: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      throw new SourceError(
        'token-file',
        `The token file of source ${this.#name} cannot be ${step} (${code}): ${this.#path}.`,
        { hint: 'See that data_dir belongs to the user that leadsync runs as and has room.', cause: error },
      );
    }
  }
}
