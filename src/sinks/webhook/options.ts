import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret } from '../../platform/options/option-types.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { storeAnswers } from '../store-answers.ts';
import { readSigningKey } from './signature.ts';

/** Headers that leadsync sets, or that belong to the connection (RFC 9110, section 7.6.1). */
const RESERVED =
  /^(webhook-.*|content-(type|length|encoding)|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect)$/i;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible ASCII, spaces and tabs (RFC 9110, section 5.5). Receivers decode other characters differently. */
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;

const WRONG_URL =
  'must be an address such as https://crm.example.com/hooks/leads, without a user, password or fragment; credentials go into headers';
const WRONG_SECRET =
  'must be whsec_ followed by 24 to 64 bytes in base64; to generate one: echo "whsec_$(openssl rand -base64 32)"';

/** Returns the schema of a Standard Webhooks signing secret. */
function signingSecret() {
  return secret().refine(
    byValue((value) => readSigningKey(value) !== undefined),
    WRONG_SECRET,
  );
}

/**
 * Returns the schema of the options of a webhook sink, without those common to every sink. All values are secret, except the names of headers
 * and the origin of `url`.
 */
export const webhookOptions = builtOnce(() =>
  z.strictObject({
    url: secret()
      .refine(byValue(isWebhookUrl), WRONG_URL)
      .describe(
        'The address to post leads to. leadsync only ever shows its scheme, host and port, because the path may contain a token.',
      ),
    secret: signingSecret()
      .optional()
      .describe(
        'The key to sign requests with, as Standard Webhooks defines it: `whsec_` followed by 24 to 64 bytes in base64. Without it, requests are not signed.',
      ),
    previous_secret: signingSecret()
      .optional()
      .describe('The former secret, during a rotation. Requests then carry a signature for each secret.'),
    headers: z
      .record(z.string(), secret())
      .superRefine((headers, context) => {
        for (const [name, value] of Object.entries(headers)) {
          const message = wrongHeader(name, value.reveal());
          if (message) context.addIssue({ code: 'custom', message, path: [name] });
        }
      })
      .default({})
      .describe('Additional headers for every request, such as `authorization`. Their values are secret.'),
    store_answers: storeAnswers('to keep the id of the record that the receiver created'),
  }),
);

/** Returns a check that applies `holds` to the value of a secret. */
function byValue(holds: (value: string) => boolean): (option: Secret) => boolean {
  return (option) => holds(option.reveal());
}

function isWebhookUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.hash === '';
}

function wrongHeader(name: string, value: string): string | undefined {
  if (!TOKEN.test(name)) return 'is not the name of an HTTP header';
  if (RESERVED.test(name)) return 'is a header that leadsync or HTTP itself sets: remove it';
  return FIELD_VALUE.test(value) ? undefined : 'must be visible ASCII characters on one line';
}
