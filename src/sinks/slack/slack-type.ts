import { isPlainHttp } from '../../platform/http/address.ts';
import { defineSink } from '../sink-type.ts';
import { channelId, optionFaults, slackOptions } from './options.ts';

/** Posts one message per lead, or a digest per batch and channel. Slack does not recognise repeats, but with a token leadsync can search for them. */
export const slack = defineSink({
  type: 'slack',
  summary: 'Posts leads to Slack channels, as messages from which a salesperson can ring back.',
  get options() {
    return slackOptions();
  },
  perLead: {
    channel: {
      means:
        'The id of the channel (or person) to write to: an expression, or `{ value: C0123456789 }`. Required with `token`.',
      fault: (constant) =>
        channelId(constant) === undefined
          ? 'must be the id of a channel such as C0123456789; Slack shows it in the details of the channel, below its description'
          : undefined,
    },
    title: { means: 'The title of the message. Default: `New lead: ` and the service.' },
  },
  place: ['api_url'],
  faults: optionFaults,
  checked: ({ token }) =>
    token ? 'Slack accepts the token; nothing was posted.' : 'Reachable; nothing was posted.',
  defaults: {
    events: ['created'],
    batchMax: 1,
    batchWaitMs: 0,
    concurrency: 1,
    timeoutMs: 15_000,
    rate: '1/s',
  },
  setup: {
    option: 'url',
    question: 'the webhook of a Slack channel, as a variable',
    standard: '${SLACK_WEBHOOK_URL}',
    entry: (url) => `  team:                              # a message for each lead in a Slack channel
    type: slack
    url: ${url}
    backfill: false                  # no messages about the leads that were listed before
`,
  },
  warnings: ({ url, api_url }) =>
    isPlainHttp(url?.reveal() ?? api_url)
      ? [
          'The address uses http:// and is not on this machine, so leads cross the network unencrypted. Use https://.',
        ]
      : [],
  load: async () => {
    const { SlackSink } = await import('./slack.ts');
    return (options, parts) => new SlackSink(options, parts);
  },
});
