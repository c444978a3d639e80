import { Webhook } from 'standardwebhooks';
import type { ReceivedRequest } from '../../test/support/servers/webhook-receiver.ts';

const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** Verifies the signature of a request, as its receiver would. Returns the event. @throws Error if the signature is wrong */
export function signedEvent(
  secret: string,
  { headers, body }: Pick<ReceivedRequest, 'headers' | 'body'>,
): unknown {
  const signed = Object.fromEntries(HEADERS.map((name) => [name, String(headers[name] ?? '')]));
  return new Webhook(secret).verify(body.toString('utf8'), signed);
}
