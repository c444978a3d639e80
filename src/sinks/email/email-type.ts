import { defineSink } from '../sink-type.ts';
import { readAddresses } from './addresses.ts';
import { emailOptions } from './options.ts';

/** Sends one email per lead. A repeat has the same Message-ID, by which many mailboxes drop it; SMTP itself does not recognise repeats. */
export const email = defineSink({
  type: 'email',
  summary: 'Sends leads by email, through an SMTP server.',
  get options() {
    return emailOptions();
  },
  perLead: {
    to: {
      means:
        'The recipients: an expression that gives one or more addresses, as text or as a list, or `{ value: "sales@example.com" }`.',
      required: true,
      fault: (constant) =>
        readAddresses(constant) === undefined
          ? 'must be one or more email addresses, with commas between them: "a@example.com, b@example.com"'
          : undefined,
    },
    subject: { means: 'The subject. Default: `New lead: ` and the service.' },
    reply_to: {
      means: 'The address for replies. Default: that of the client, if it is valid.',
      fault: (constant) =>
        readAddresses(constant)?.length === 1
          ? undefined
          : 'must be one email address such as sales@example.com',
    },
    text: { means: 'The whole text. Default: a line for each field.' },
    html: {
      means:
        'The whole HTML. Put text from the lead into `html(…)`, which escapes it. Default: a table of the fields.',
    },
  },
  checked: ({ server }) =>
    new URL(server.reveal()).username === ''
      ? 'Connected to the server; no email was sent.'
      : 'Logged in to the server; no email was sent.',
  defaults: {
    events: ['created'],
    batchMax: 1,
    batchWaitMs: 0,
    concurrency: 2,
    timeoutMs: 30_000,
  },
  setup: {
    option: 'server',
    question: 'the URL of the mail server, as a variable',
    standard: '${SMTP_URL}',
    entry: (server) => `  mail:                              # an email for each lead
    type: email
    server: ${server}
    from: leads@example.com
    to: { value: sales@example.com } # or an expression: lookup("owners", lead.service_slug)
    backfill: false                  # no emails about the leads that were listed before
`,
  },
  load: async () => {
    const { EmailSink } = await import('./email.ts');
    return (options, parts) => new EmailSink(options, parts);
  },
});
