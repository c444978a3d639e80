import { isPlainHttp } from '../../platform/http/address.ts';
import { defineSink } from '../sink-type.ts';
import { webhookOptions } from './options.ts';

/**
 * Posts one request per lead, or per batch if `batch.max` is above 1. leadsync cannot read back what a receiver stores. An erasure is
 * an event of its own.
 */
export const webhook = defineSink({
  type: 'webhook',
  summary: 'Posts leads as JSON to an address, signed by the Standard Webhooks scheme.',
  get options() {
    return webhookOptions();
  },
  checked: () => 'Reachable; no request was sent.',
  defaults: {
    events: ['created', 'erased'],
    batchMax: 1,
    batchWaitMs: 0,
    concurrency: 10,
    timeoutMs: 15_000,
  },
  setup: {
    option: 'url',
    question: 'the address to post leads to',
    standard: 'https://crm.example.com/hooks/leads',
    entry: (url) => `  crm:                               # one signed request per lead
    type: webhook
    url: ${url}
    secret: \${CRM_WEBHOOK_SECRET}    # the receiver has the same secret: echo "whsec_$(openssl rand -base64 32)" generates one
`,
  },
  warnings: ({ url }) =>
    isPlainHttp(url.reveal())
      ? ['url uses http:// and is not on this machine, so leads cross the network unencrypted. Use https://.']
      : [],
  load: async () => {
    const { WebhookSink } = await import('./webhook.ts');
    return (options, parts) => new WebhookSink(options, parts);
  },
});
