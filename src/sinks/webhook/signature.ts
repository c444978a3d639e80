import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

const PREFIX = 'whsec_';

/** Returns the key in a Standard Webhooks signing secret: `whsec_` followed by 24 to 64 bytes in base64. Returns undefined for any other text. */
export function readSigningKey(secret: string): KeyObject | undefined {
  if (!secret.startsWith(PREFIX)) return undefined;
  const base64 = secret.slice(PREFIX.length);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  const key = Buffer.from(base64, 'base64');
  // A KeyObject, because a key made from bytes for each signature costs three times as much as the signature.
  return key.length >= 24 && key.length <= 64 ? createSecretKey(key) : undefined;
}

/**
 * Returns the signatures of a message (Standard Webhooks, "Signature scheme"): HMAC-SHA256 over `id.timestamp.body`, one per key, so
 * that a receiver that still has the previous secret can verify it too.
 */
export function sign(
  keys: readonly KeyObject[],
  id: string,
  timestampSeconds: number,
  body: Buffer | string,
): string {
  return keys
    .map((key) =>
      createHmac('sha256', key).update(`${id}.${timestampSeconds}.`).update(body).digest('base64'),
    )
    .map((signature) => `v1,${signature}`)
    .join(' ');
}
