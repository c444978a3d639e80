import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

const PREFIX = 'whsec_';

/**
 * Reads a signing secret of Standard Webhooks: `whsec_` and the key in base64, 24 to 64 bytes.
 * Undefined for anything else.
 */
export function readSigningKey(secret: string): KeyObject | undefined {
  if (!secret.startsWith(PREFIX)) return undefined;
  const base64 = secret.slice(PREFIX.length);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  const key = Buffer.from(base64, 'base64');
  // Made into a key once: made from bytes for each signature, it would cost three times the signature itself.
  return key.length >= 24 && key.length <= 64 ? createSecretKey(key) : undefined;
}

/**
 * Signs a message (Standard Webhooks, section "Signature scheme"): HMAC-SHA256 over `id.timestamp.body`, one signature
 * per key, so that a receiver which still has the previous secret can verify it too.
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
