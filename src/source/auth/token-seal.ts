import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Secret } from '../../platform/options/secret.ts';

/** The format of an encrypted file: AES-256-GCM, each value in base64. */
export const sealedText = z.strictObject({
  cipher: z.literal('aes-256-gcm'),
  /** Salt for scrypt; absent if the key was used directly. */
  salt: z.base64().optional(),
  iv: z.base64(),
  tag: z.base64(),
  data: z.base64(),
});

/** Encrypted text, with everything that decryption needs except the key and the subject. */
export type SealedText = z.output<typeof sealedText>;

/** Whether a text is encrypted. */
export function isSealed(text: string): boolean {
  try {
    return sealedText.safeParse(JSON.parse(text)).success;
  } catch {
    return false; // not JSON: possibly part of a token, so encrypt it too
  }
}

/** The text cannot be decrypted: the key is wrong, or the file was changed. */
export class DecryptionFailed extends Error {
  override readonly name = 'DecryptionFailed';
}

const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 ** 2 };
const deriveKey = promisify<string, Buffer, number, typeof SCRYPT, Buffer>(scrypt);

/**
 * Encrypts and decrypts text with one key. A key of 32 bytes, written as 64 hexadecimal digits or in base64 (`openssl rand -base64 32`), is used
 * directly; any other value is a passphrase from which scrypt derives the key.
 */
export class Seal {
  readonly #secret: Secret;
  readonly #plainKey: Buffer | undefined;
  /** The key derived last. It is cached, because deriving a key takes about 100 ms. */
  #derived: { readonly salt: string; readonly key: Promise<Buffer> } | undefined;

  constructor(secret: Secret) {
    this.#secret = secret;
    this.#plainKey = readKey(secret.reveal());
  }

  /** Encrypts the text. @param subject additional authenticated data; `open` must be called with the same subject */
  async close(text: string, subject: string): Promise<SealedText> {
    const salt = this.#plainKey ? undefined : (this.#derived?.salt ?? randomBytes(16).toString('base64'));
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', await this.#keyFor(salt), iv).setAAD(Buffer.from(subject));
    const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]).toString('base64');
    const rest = { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data };
    return { cipher: 'aes-256-gcm', ...(salt === undefined ? {} : { salt }), ...rest };
  }

  /** Decrypts the text. @throws DecryptionFailed */
  async open(sealed: SealedText, subject: string): Promise<string> {
    const key = await this.#keyFor(sealed.salt);
    try {
      const iv = Buffer.from(sealed.iv, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: 16 });
      decipher.setAAD(Buffer.from(subject)).setAuthTag(Buffer.from(sealed.tag, 'base64'));
      const data = decipher.update(Buffer.from(sealed.data, 'base64'));
      return Buffer.concat([data, decipher.final()]).toString('utf8');
    } catch (error) {
      throw new DecryptionFailed('the key does not fit', { cause: error });
    }
  }

  async #keyFor(salt: string | undefined): Promise<Buffer> {
    if (salt === undefined) {
      // The text was encrypted with a key, and ours is a passphrase.
      if (this.#plainKey === undefined) throw new DecryptionFailed('the key does not fit');
      return this.#plainKey;
    }
    if (this.#derived?.salt !== salt) {
      const key = deriveKey(this.#secret.reveal(), Buffer.from(salt, 'base64'), 32, SCRYPT);
      this.#derived = { salt, key };
    }
    return this.#derived.key;
  }
}

function readKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
