import { z } from 'zod';
import { builtOnce } from '../platform/options/built-once.ts';
import { webhookOptions } from '../sinks/webhook/options.ts';
import { readSigningKey, sign } from '../sinks/webhook/signature.ts';
import { defineDestination } from './destination.ts';
import { jsonOf } from './notice.ts';
import { postJson, reachServer } from './post-json.ts';

const options = builtOnce(() =>
  z.strictObject({
    url: webhookOptions().shape.url.describe(
      'URL to which leadsync posts notices. leadsync shows only its scheme, host and port.',
    ),
    secret: webhookOptions().shape.secret,
    headers: webhookOptions().shape.headers,
  }),
);

/** Posts notices as JSON, signed like leads. */
export const webhook = defineDestination({
  type: 'webhook',
  summary: 'Posts notices as JSON to a URL, signed by the Standard Webhooks scheme if a secret is set.',
  get options() {
    return options();
  },
  open: ({ url, secret, headers }, clock) => {
    const target = new URL(url.reveal());
    const keys = [readSigningKey(secret?.reveal() ?? '')].filter((key) => key !== undefined);
    const own = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.reveal()]),
    );
    return {
      send: async (message, signal) => {
        const body = jsonOf(message);
        const seconds = Math.floor(clock.now().getTime() / 1000);
        const signature = sign(keys, message.id, seconds, body);
        const about = { 'webhook-id': message.id, 'webhook-timestamp': String(seconds) };
        const signed = signature === '' ? about : { ...about, 'webhook-signature': signature };
        await postJson(target, body, { ...own, ...signed }, signal);
      },
      check: (signal) => reachServer(target, signal),
    };
  },
});
