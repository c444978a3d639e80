import { createHmac } from 'node:crypto';
import { normalisedEmail, normalisedPhone } from '../../../leads/contact.ts';
import type { Lead } from '../../../leads/lead.ts';

/** Maximum number of versions whose keys are computed in one transaction. */
export const KEYED_ROWS = 250;
/** Maximum total length of these versions, in UTF-16 code units. The last version may exceed it. */
export const KEYED_CHARACTERS = 4_000_000;

/** Returns a fingerprint of a secret, which does not reveal the secret; null if there is none. */
export function fingerprintOf(secret: string | undefined): string | null {
  return secret === undefined ? null : keyed(secret, 'fingerprint');
}

/** Returns the key of the client in a lead's text; empty if the lead has neither an email address nor a phone number. */
export function clientKeyOf(secret: string, raw: string): string {
  const client = clientOf(JSON.parse(raw));
  return client === undefined ? '' : keyed(secret, client);
}

/**
 * Returns the normalised email address of a client, or the phone number if there is no email address; undefined if the lead has neither.
 */
function clientOf({ client_email, client_phone_number }: Partial<Lead>): string | undefined {
  const email = normalisedEmail(client_email);
  if (email !== '') return `email:${email}`;
  const digits = normalisedPhone(client_phone_number);
  return digits === '' ? undefined : `phone:${digits}`;
}

/** Returns the first 128 bits of an HMAC-SHA-256 (RFC 2104), in hexadecimal. */
function keyed(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex').slice(0, 32);
}
