import { z } from 'zod';
import { type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret } from '../../platform/options/option-types.ts';
import type { OptionFault } from '../sink-type.ts';

/** An address without credentials, query or fragment. */
function isAddress(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.hash === '';
}

/** A bot token, including one that Slack rotates: visible ASCII without spaces, as a header requires. */
const TOKEN = /^(xoxe\.)?xoxb-[\x21-\x7e]+$/;

/** The id of a channel, a conversation or a person. */
const CHANNEL_ID = /^[A-Z][A-Z0-9]{2,40}$/;

/** Returns the id of a channel; undefined if the value is not an id. */
export function channelId(value: MappedValue | undefined): string | undefined {
  const channel = mappedText(value).trim();
  return CHANNEL_ID.test(channel) ? channel : undefined;
}

/** Returns the schema of the options of a slack sink, without those common to every sink. */
export const slackOptions = builtOnce(() =>
  z.strictObject({
    token: secret()
      .refine((token) => TOKEN.test(token.reveal()), 'must be a bot token on one line: it begins with xoxb-')
      .optional()
      .describe(
        'The bot token (`xoxb-…`) of a Slack app with the scope `chat:write`. With `channels:history`, leadsync can find out whether a message has arrived. Give either `token` or `url`.',
      ),
    url: secret()
      .refine(
        (url) => isAddress(url.reveal()),
        'must be an address such as https://hooks.slack.com/services/…, without a user or fragment',
      )
      .optional()
      .describe(
        'The URL of an incoming webhook, which writes to one channel. leadsync only ever shows its scheme, host and port. Give either `token` or `url`.',
      ),
    api_url: z
      .string()
      .refine(
        (url) => isAddress(url) && !url.includes('?'),
        'must be an address such as https://slack.com/api',
      )
      .transform((url) => url.replace(/\/+$/, ''))
      .default('https://slack.com/api')
      .describe("The address of Slack's Web API, for use with `token`."),
  }),
);

/** Returns the faults in the combination of options: exactly one of `token` and `url` is required, and only `token` allows a choice of channels. */
export function optionFaults(
  { token, url }: z.output<ReturnType<typeof slackOptions>>,
  perLead: ReadonlySet<string>,
): readonly OptionFault[] {
  if (token && url)
    return [{ option: 'url', message: '`token` and `url` exclude each other', hint: 'remove one of them' }];
  if (!token && !url) {
    const hint = 'add the bot token of a Slack app, or `url` with the URL of an incoming webhook';
    return [{ option: 'token', message: '', hint }];
  }
  if (token && !perLead.has('channel')) {
    const hint = 'add the channel to write to: an expression, or { value: C0123456789 }';
    return [{ option: 'channel', message: '', hint }];
  }
  if (url && perLead.has('channel')) {
    const message = 'an incoming webhook always writes to its own channel';
    return [{ option: 'channel', message, hint: 'remove `channel`, or use `token` in place of `url`' }];
  }
  return [];
}
